#include "tests/support/crash_note.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

namespace terroir::test {
namespace {

// The handler may not allocate.
char g_note[128] = "";

void tell_and_die(int signal) {
  constexpr char kText[] = "\ncrashed in ";
  [[maybe_unused]] auto written = write(2, kText, sizeof kText - 1);
  written = write(2, g_note, std::strlen(g_note));
  written = write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void note_crashes() {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS}) std::signal(signal, tell_and_die);
}

void set_crash_note(const std::string& text) { std::snprintf(g_note, sizeof g_note, "%s", text.c_str()); }

}  // namespace terroir::test
