# Kernel files are named after their bucket (plugins/cpu/kernels/<family>/<isa>.cpp) and get its flags, nothing else
# does. They are optimised in every configuration: unoptimised vector code is useless for testing, and inlining keeps
# library code compiled for one ISA out of the symbols that the linker may share.
set(all_isa_buckets scalar)
set(TERROIR_ISA_FLAGS_scalar "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND all_isa_buckets sse42 avx2 avx512)
  set(TERROIR_ISA_FLAGS_sse42 -msse4.2)
  set(TERROIR_ISA_FLAGS_avx2 -mavx2 -mfma)
  set(TERROIR_ISA_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
  set(TERROIR_ISA_FLAGS_avx512_vnni ${TERROIR_ISA_FLAGS_avx512} -mavx512vnni)
  set(TERROIR_ISA_FLAGS_avx512_bf16 ${TERROIR_ISA_FLAGS_avx512_vnni} -mavx512bf16)
  set(TERROIR_ISA_FLAGS_avx512_amx ${TERROIR_ISA_FLAGS_avx512_bf16} -mamx-tile -mamx-int8 -mamx-bf16)
endif()
set(TERROIR_ISA_BUCKETS ${all_isa_buckets} CACHE STRING "Kernels to build: all buckets of the architecture, or scalar")
if(NOT TERROIR_ISA_BUCKETS STREQUAL all_isa_buckets AND NOT TERROIR_ISA_BUCKETS STREQUAL "scalar")
  # A processor that has one bucket has all smaller ones, and the tables of kernels rely on it.
  message(FATAL_ERROR "TERROIR_ISA_BUCKETS is '${TERROIR_ISA_BUCKETS}'; it can be 'scalar' or '${all_isa_buckets}'")
endif()

# What some processors of a bucket have beside it: kernels of their own, in the same way, that are asked for by name.
set(TERROIR_KERNEL_BUCKETS ${TERROIR_ISA_BUCKETS})
if("avx512" IN_LIST TERROIR_ISA_BUCKETS)
  list(APPEND TERROIR_KERNEL_BUCKETS avx512_vnni avx512_bf16 avx512_amx)
endif()

# Kernels call nothing that throws: tables for unwinding them would be a tenth of a megabyte nobody reads.
set(TERROIR_ISA_UNWIND_FLAGS)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TERROIR_SANITIZE)
  set(TERROIR_ISA_UNWIND_FLAGS -fno-exceptions -fno-asynchronous-unwind-tables)
endif()

# The same for all files of a bucket, which then share what the compiler has read of their headers.
# Instrumenting fully unrolled vector code takes minutes per file. Sanitized builds instrument the scalar bucket, which is
# the same generic code; their presets build no other one. If there are others (then run with TERROIR_FORCE_ISA=scalar),
# these rely on the guard pages of the kernel tests.
function(terroir_isa_optimisation isa out_var)
  if(TERROIR_SANITIZE AND isa STREQUAL "scalar")
    set(optimisation -O1 -fno-sanitize=undefined)
  elseif(TERROIR_SANITIZE)
    set(optimisation -O2 -fno-sanitize=all)
  elseif(isa STREQUAL "scalar" AND "sse42" IN_LIST TERROIR_ISA_BUCKETS)
    # Processors that run it instead of the next bucket are older than 2009: there the size counts.
    set(optimisation -Os)
  elseif(isa STREQUAL "sse42")
    # Likewise: old ones, and small ones that were sold without AVX until 2021. Vectors are written out; what else a
    # compiler does to loops is mostly size, and but for those of convolutions and products makes none of them faster.
    set(optimisation -Os)
  else()
    set(optimisation -O3)
  endif()
  set(${out_var} ${optimisation} PARENT_SCOPE)
endfunction()

# -O3 makes more code of these families than -O2, and none of it runs faster. Of others it inlines what -O2 calls.
set(terroir_plain_families boxes conv_bytes conv_dw functions invert mvn pool)

# terroir_isa_objects(out_var): one object library for each bucket.
function(terroir_isa_objects out_var)
  set(libraries)
  foreach(isa IN LISTS TERROIR_KERNEL_BUCKETS)
    file(GLOB sources CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/${isa}.cpp ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/*/*_${isa}.cpp)
    set(library terroir_${isa}_objects)
    add_library(${library} OBJECT ${sources})
    terroir_isa_optimisation(${isa} optimisation)
    target_compile_options(${library} PRIVATE ${optimisation} ${TERROIR_ISA_FLAGS_${isa}} ${TERROIR_ISA_UNWIND_FLAGS})
    # Once they are precompiled, g++ forgets that the headers of its intrinsics leave vectors undefined on purpose. The
    # other buckets compile the same code with the warning.
    if(isa MATCHES "^avx512")
      target_compile_options(${library} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
    endif()
    target_precompile_headers(${library} PRIVATE "${PROJECT_SOURCE_DIR}/plugins/cpu/simd/${isa}.hpp")
    if(isa STREQUAL "scalar" AND "sse42" IN_LIST TERROIR_ISA_BUCKETS)
      # Processors of sse42 run these, too.
      foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH family)
        if(NOT EXISTS ${family}/sse42.cpp AND NOT TERROIR_SANITIZE)
          set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
        endif()
      endforeach()
    endif()
    set(plain_families)
    if(optimisation STREQUAL "-O3")
      set(plain_families ${terroir_plain_families})
    elseif(optimisation STREQUAL "-Os" AND isa STREQUAL "sse42")
      set(plain_families conv conv_wino matmul)
    endif()
    if(plain_families)
      foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH family)
        cmake_path(GET family FILENAME family)
        if(family IN_LIST plain_families)
          set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
        endif()
      endforeach()
    endif()
    list(APPEND libraries ${library})
  endforeach()
  set(${out_var} ${libraries} PARENT_SCOPE)
endfunction()
