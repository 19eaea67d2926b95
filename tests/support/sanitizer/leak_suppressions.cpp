// What LeakSanitizer takes for a leak and is none: a team of threads that has been asked for moments before the process
// ends is held by a task in TBB's own memory, which the sanitizer does not search. The processors it is bound to are
// allocated before it and moved in.
#define SEEN_BY_THE_SANITIZER extern "C" __attribute__((visibility("default")))
SEEN_BY_THE_SANITIZER const char* __lsan_default_suppressions();  // NOLINT: the sanitizer calls it by this name

const char* __lsan_default_suppressions() {
  return "leak:terroir::parallel::Arena::Arena\n"
         "leak:terroir::plugin::Placement::cpus_of_stream\n";
}
