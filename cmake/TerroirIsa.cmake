# Kernel files are named after their bucket (plugins/cpu/kernels/<family>/<isa>.cpp) and get its flags, nothing else
# does. They are optimised in every configuration: unoptimised vector code is useless for testing, and inlining keeps
# library code compiled for one ISA out of the symbols that the linker may share.
set(TERROIR_ISA_BUCKETS scalar)
set(TERROIR_ISA_FLAGS_scalar "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND TERROIR_ISA_BUCKETS sse42 avx2 avx512)
  set(TERROIR_ISA_FLAGS_sse42 -msse4.2)
  set(TERROIR_ISA_FLAGS_avx2 -mavx2 -mfma)
  set(TERROIR_ISA_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
endif()

# Checks on every arithmetic operation of fully unrolled vector code take minutes to compile and find what the kernel
# tests find with guard pages; AddressSanitizer stays.
set(TERROIR_ISA_OPTIMISATION -O3)
if(TERROIR_SANITIZE)
  set(TERROIR_ISA_OPTIMISATION -O2 -fno-sanitize=undefined -fno-var-tracking)
endif()

function(terroir_isa_sources out_var)
  set(sources)
  foreach(isa IN LISTS TERROIR_ISA_BUCKETS)
    file(GLOB isa_sources CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/${isa}.cpp ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/*_${isa}.cpp)
    if(isa_sources)
      set_source_files_properties(${isa_sources} PROPERTIES COMPILE_OPTIONS "${TERROIR_ISA_OPTIMISATION};${TERROIR_ISA_FLAGS_${isa}}")
      list(APPEND sources ${isa_sources})
    endif()
  endforeach()
  set(${out_var} ${sources} PARENT_SCOPE)
endfunction()
