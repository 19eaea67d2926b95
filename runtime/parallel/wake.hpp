// What: TBB's workers: gets them ready for who will run loops in some milliseconds, and knows whether a fork() left
// them behind. Cost: half a millisecond the first time, which the first loop saves. A thread that is made for a loop
// may be left on the CPU of who runs it until the system balances its load, milliseconds later; one that sleeps is
// woken where it can run at once. Threads: any. Nothing is promised: threads that are not there are made by the first
// loop.
#pragma once

namespace terroir::parallel {

/// So many together with the calling one.
void wake_threads(int threads) noexcept;

/// To be called before TBB is asked for workers.
void note_workers() noexcept;
/// Whether it was asked before a fork() that led to this process: it counts on them, and they are not here.
bool workers_are_lost() noexcept;

}  // namespace terroir::parallel
