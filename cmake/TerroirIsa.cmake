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

# Instrumenting fully unrolled vector code takes minutes per file. Sanitized builds instrument the scalar bucket, which is
# the same generic code (run them with TERROIR_FORCE_ISA=scalar); the others rely on the guard pages of the kernel tests.
function(terroir_isa_optimisation isa out_var)
  list(LENGTH TERROIR_ISA_BUCKETS buckets)
  if(NOT TERROIR_SANITIZE AND isa STREQUAL "scalar" AND buckets GREATER 1)
    # Every processor of this architecture has a better bucket: this one is for tests, and the size counts.
    set(${out_var} -Os PARENT_SCOPE)
  elseif(NOT TERROIR_SANITIZE)
    set(${out_var} -O3 PARENT_SCOPE)
  elseif(isa STREQUAL "scalar")
    set(${out_var} -O1 -fno-sanitize=undefined PARENT_SCOPE)
  else()
    set(${out_var} -O2 -fno-sanitize=all PARENT_SCOPE)
  endif()
endfunction()

function(terroir_isa_sources out_var)
  set(sources)
  foreach(isa IN LISTS TERROIR_ISA_BUCKETS)
    file(GLOB isa_sources CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/${isa}.cpp ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/*_${isa}.cpp)
    if(isa_sources)
      terroir_isa_optimisation(${isa} optimisation)
      set_source_files_properties(${isa_sources} PROPERTIES COMPILE_OPTIONS "${optimisation};${TERROIR_ISA_FLAGS_${isa}}")
      list(APPEND sources ${isa_sources})
    endif()
  endforeach()
  set(${out_var} ${sources} PARENT_SCOPE)
endfunction()
