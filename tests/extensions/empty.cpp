// A shared library that is no extension.
extern "C" __attribute__((visibility("default"))) int terroir_test_nothing() { return 0; }
