// What the sanitizers are told before a test begins.
#define SEEN_BY_THE_SANITIZER extern "C" __attribute__((visibility("default")))
SEEN_BY_THE_SANITIZER const char* __asan_default_options();       // NOLINT: the sanitizer calls it by this name
SEEN_BY_THE_SANITIZER const char* __lsan_default_suppressions();  // NOLINT: this one, too

// Memory that the system does not have is refused, as without the sanitizer: an error of ours, not its end.
const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// A team of threads that has been asked for moments before the process ends is no leak: it is held by a task in TBB's
// own memory, which the sanitizer does not search. The processors it is bound to are allocated before it and moved in.
// Nor is what a library says of its layers, which lives as long as the process: nothing points to it any more once the
// library is unloaded.
const char* __lsan_default_suppressions() {
  return "leak:terroir::parallel::Arena::Arena\n"
         "leak:terroir::plugin::Placement::cpus_of_stream\n"
         "leak:terroir::detail::joined\n";
}
