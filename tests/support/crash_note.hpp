#pragma once
// What: says which model a program was at when it crashes.
#include <string>

namespace terroir::test {

/// From now on a crash (SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS) prints "crashed in" and the last note first.
void note_crashes();

/// What the program is at; cut off after 127 bytes.
void set_crash_note(const std::string& text);

}  // namespace terroir::test
