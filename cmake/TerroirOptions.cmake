option(TERROIR_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TERROIR_BUILD_BENCH "Build the Google Benchmark binaries under tests/bench" ON)
option(TERROIR_BUILD_SAMPLES "Build the samples" ${PROJECT_IS_TOP_LEVEL})
option(TERROIR_WERROR "Treat warnings as errors" OFF)
set(TERROIR_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Most of a compilation is reading the same headers and writing out the same templates. Compiler caches have their own way
# around that, to which precompiled headers and files compiled together are in the way; and sanitized builds do without,
# so that a forgotten #include shows somewhere.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" OR TERROIR_SANITIZE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  set(terroir_compile_together OFF)
else()
  set(terroir_compile_together ON)
endif()

# terroir_compile_together(target...): eight source files at a time are one program part, in half the time or less.
function(terroir_compile_together)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${terroir_compile_together} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

add_library(terroir_build_options INTERFACE)
# -ffp-contract=off: a value must not depend on whether the compiler saw it in a vector body or in a scalar tail.
target_compile_options(terroir_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -ffp-contract=off
  # g++ 12 sees uninitialised payloads in std::optional where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<BOOL:${TERROIR_WERROR}>:-Werror>)
target_include_directories(terroir_build_options INTERFACE
  ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/runtime/include)
# The graph is verified after each pass, and internal assertions are on, in every build but the released one.
target_compile_definitions(terroir_build_options INTERFACE
  $<$<NOT:$<CONFIG:Release,MinSizeRel>>:TERROIR_CHECKED=1>)

if(TERROIR_SANITIZE)
  # Lines for reports; full debug information would take as long to write as everything else.
  add_compile_options(-fsanitize=${TERROIR_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TERROIR_SANITIZE})
  if(TERROIR_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
