terroir_isa_objects(terroir_kernels)
set(TERROIR_SOURCES)
foreach(room ir ops runtime plugins)
  file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.cpp)
  # Kernels of a bucket are objects of their own.
  list(FILTER room_sources EXCLUDE REGEX "/plugins/cpu/kernels/[^/]+/([^/]+_)?(scalar|sse42|avx2|avx512|avx512_vnni|avx512_bf16|avx512_amx)\\.cpp$")
  # The C API is a library of its own.
  list(FILTER room_sources EXCLUDE REGEX "/runtime/compat/")
  list(APPEND TERROIR_SOURCES ${room_sources})
endforeach()

# Half the library is code that runs once per model, reading and compiling it: there the size counts.
set(TERROIR_ONCE_PER_MODEL ${TERROIR_SOURCES})
string(CONCAT once_per_model "^${PROJECT_SOURCE_DIR}/("
  "ir/(graph|pass|schema|stored|text|xml)/|ops/(defs|rewrites|shape)/|"
  "runtime/(plugin|extension)/|runtime/api/(allocator|attributes|compiled_model|executor|infer_request|streams|variable_state|constant_folding|control_flow|core|custom_op|draft|evaluate|framework|graph|layout|log|model|narrow|node|preprocess|read|remote|request_ends|rt_info|save|serialize|tensor|version)|"
  "runtime/memory/arena_buffer|runtime/memory/planner|runtime/parallel/available|runtime/parallel/cpu|ops/data_types|ops/op_rows|ops/registry|ops/run_reference|ir/base/(any|build_id|code_file|control_groups|dimension|element_type|error|log|machine_memory|mapped_file|partial_shape|pending_file|short_memory|text_dims)|plugins/(interpreter/|cpu/(passes|layout)/|"
  "cpu/(kernels/[^/]+/plan|kernels/conv_wino/cost|kernels/copy/copy_plan|kernels/conv_wino/one_axis|kernels/conv_wino/polyphase|attention_op|bf16_op|compile|compressed_op|convolution_chain_op|elementwise_op|frontier_plans|impls|isa|ops|plugin|post_op_|program|quantized_op|rms_norm_op|runtime_graph|stage_cache|stored_|tile_lowering|tile_operand|tile_program|weights_cache)))")
list(FILTER TERROIR_ONCE_PER_MODEL INCLUDE REGEX "${once_per_model}")
# Of these nodes, too: a run only hands out tasks, whose loops are in the kernels.
set(TERROIR_HANDING_OUT ${TERROIR_SOURCES})
string(CONCAT handing_out "^${PROJECT_SOURCE_DIR}/plugins/cpu/nodes/("
  "attention|axis_copy|binary_convolution|blocks|box_suppression|broadcast_binary|concat_split|convolution|convolution_chain|convolution_paired|convolution_problem|convolution_winograd|ctc_greedy|channel_lanes|cum_sum|deformable_convolution|depth_space|eltwise|elementwise|extension|fourier|gated_convolution|grid_sample|"
  "group_normalization|infrastructure|interpolate|interpolate_axes|interpolate_geometry|interpolate_image|inverse|joined_convolution|late_axis|matmul|matmul_paired|mvn|norm|pad|paired_executor|pool|pool_problem|pooled_convolution|prepared_convolution|prepared_winograd|qlinear_conv|quantize|bf16_depthwise|bf16x3|quantized_convolution|quantized_problem|recurrent|recurrent_weights|"
  "reduce|reference|region_yolo|reorder|repeat|rms_norm|row_table|scatter|separable_convolution|slice|slice_scatter|softmax|stage_node|stft|tile_split|transpose|view|winograd_bands|winograd_conv)\\.cpp$")
list(FILTER TERROIR_HANDING_OUT INCLUDE REGEX "${handing_out}")
# The same holds for references that only the interpreter and rare element types run, since the CPU has kernels of its own.
set(TERROIR_RARE_REFERENCES ${TERROIR_SOURCES})
string(CONCAT rare_references "^${PROJECT_SOURCE_DIR}/ops/reference/"
  "(convolution|control_flow|detection/(prior_box|roi_align|roi_pooling)|image|matrix/(einsum|inverse)|quantization/fake_convert|movement|normalization|pooling|reduction/segment_max|sequence|signals|sort|sparse|terroir1)")
list(FILTER TERROIR_RARE_REFERENCES INCLUDE REGEX "${rare_references}")
# TopK of the CPU device sorts with the one, whatever the type; the others have no kernels.
list(FILTER TERROIR_RARE_REFERENCES EXCLUDE REGEX "/ops/reference/(sort/radix|movement/unique)\\.cpp$")
# Suppression of boxes compares one with whole blocks of others, which takes vectors only where the compiler may divide
# before it knows whether the quotient counts. That changes no value.
set(TERROIR_BLOCK_LOOPS ${TERROIR_SOURCES})
list(FILTER TERROIR_BLOCK_LOOPS INCLUDE REGEX "/(ops/reference/detection/(box_overlap|class_nms|detection_output)|plugins/cpu/weight_steps)\\.cpp$")
# Likewise quantisation, whose blocks have a length that the compiler knows.
set(TERROIR_FIXED_LOOPS ${PROJECT_SOURCE_DIR}/ops/reference/quantization/fake_quantize.cpp)
set(TERROIR_SMALL_SOURCES ${TERROIR_ONCE_PER_MODEL} ${TERROIR_HANDING_OUT} ${TERROIR_RARE_REFERENCES})
list(REMOVE_DUPLICATES TERROIR_SMALL_SOURCES)
list(REMOVE_ITEM TERROIR_SOURCES ${TERROIR_SMALL_SOURCES})
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TERROIR_SANITIZE)
  # Loops of every element size that need no ISA of their own, but vectors.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/ir/base/hash128.cpp
    ${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/copy/copy_rows.cpp
    ${PROJECT_SOURCE_DIR}/ops/reference/movement/non_zero.cpp PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
  # Hundreds of small loops, as kernels of a bucket: what they call throws nothing.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/plugins/cpu/kernels/scatter/scatter.cpp PROPERTIES
    COMPILE_OPTIONS "-fno-exceptions;-fno-asynchronous-unwind-tables" SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(${TERROIR_BLOCK_LOOPS} PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
  set_source_files_properties(${TERROIR_FIXED_LOOPS} PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
endif()
# These have options of their own; precompiled headers have those of their target.
set_source_files_properties(${TERROIR_BLOCK_LOOPS} ${TERROIR_FIXED_LOOPS} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# What is compiled for speed, and what for size: precompiled headers are for one or the other.
add_library(terroir_objects OBJECT ${TERROIR_SOURCES})
add_library(terroir_small_objects OBJECT ${TERROIR_SMALL_SOURCES})
# Files of one room are compiled eight at a time, which takes half as long: what they keep to themselves needs names of its
# own in the room. Nodes of the plugin stay apart, which call their functions alike (propose, create).
if(terroir_compile_together)
  foreach(room ir/ ops/defs/control_flow/ ops/defs/convolution/ ops/defs/detection/ ops/defs/elementwise/
      ops/defs/generation/ ops/defs/image/ ops/defs/matrix/ ops/defs/movement/ ops/defs/normalization/ ops/defs/pooling/
      ops/defs/sequence/ ops/defs/shape/ ops/defs/terroir1/ ops/defs/type/ ops/reference/ ops/rewrites/ ops/shape/
      runtime/ plugins/cpu/passes/ "plugins/cpu/[^/]+\\.cpp")
    set(room_sources ${TERROIR_SMALL_SOURCES})
    list(FILTER room_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${room}")
    list(LENGTH room_sources count)
    foreach(source IN LISTS room_sources)
      math(EXPR count "${count} - 1")
      math(EXPR part "${count} / 8")
      string(MAKE_C_IDENTIFIER "${room}_${part}" group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endforeach()
  set_target_properties(terroir_small_objects PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endif()
set(terroir_all_objects terroir_small_objects terroir_objects ${terroir_kernels})
foreach(objects IN LISTS terroir_all_objects)
  target_link_libraries(${objects}
    PUBLIC terroir_build_options
    PRIVATE pugixml::pugixml TBB::tbb xsimd Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(${objects} PRIVATE TERROIR_EXPORTS=1 TERROIR_VERSION="${PROJECT_VERSION}")
endforeach()
foreach(objects terroir_objects terroir_small_objects)
  # Half of what the compiler reads, for nearly all of them. Of our own, what every room may include.
  target_precompile_headers(${objects} PRIVATE <algorithm> <array> <cmath> <cstring> <functional> <limits> <map> <memory>
    <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
    "${PROJECT_SOURCE_DIR}/ir/base/error.hpp" "${PROJECT_SOURCE_DIR}/ir/base/tensor_view.hpp"
    "${PROJECT_SOURCE_DIR}/ir/schema/infer_context.hpp" "${PROJECT_SOURCE_DIR}/ir/graph/graph.hpp")
endforeach()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TERROIR_SANITIZE)
  # A function with other parameters is one more copy in each file; as written, the linker keeps one for all.
  # Loops begin where processors like to read them; that functions and branches do too, nobody notices but the size.
  target_compile_options(terroir_objects PRIVATE -fno-ipa-sra -fno-align-functions -fno-align-jumps)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-Oz TERROIR_COMPILER_KNOWS_OZ)
  target_compile_options(terroir_small_objects PRIVATE $<IF:$<BOOL:${TERROIR_COMPILER_KNOWS_OZ}>,-Oz,-Os> -fno-ipa-sra)
endif()
foreach(isa IN LISTS TERROIR_KERNEL_BUCKETS)
  string(TOUPPER ${isa} isa_upper)
  target_compile_definitions(terroir_build_options INTERFACE TERROIR_HAVE_${isa_upper}=1)
endforeach()

foreach(kind SHARED STATIC)
  if(kind STREQUAL SHARED)
    set(target terroir)
  else()
    set(target terroir_static)
  endif()
  # Of functions that several have, the linker takes those it meets first.
  add_library(${target} ${kind})
  foreach(objects IN LISTS terroir_all_objects)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME terroir VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} PRIVATE pugixml::pugixml TBB::tbb Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
target_compile_definitions(terroir_static PUBLIC TERROIR_STATIC=1)
set_target_properties(terroir PROPERTIES EXPORT_NAME terroir)
set_target_properties(terroir_static PROPERTIES EXPORT_NAME terroir_static)
# What libraries with custom layers need: headers alone.
add_library(terroir_extension INTERFACE)
target_compile_features(terroir_extension INTERFACE cxx_std_17)
target_include_directories(terroir_extension INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)
set_target_properties(terroir_extension PROPERTIES EXPORT_NAME extension)
add_library(terroir::extension ALIAS terroir_extension)
add_library(terroir::terroir ALIAS terroir)
add_library(terroir::terroir_static ALIAS terroir_static)
if(CMAKE_BUILD_TYPE MATCHES "^(Release|MinSizeRel)$")
  target_link_options(terroir PRIVATE -Wl,--gc-sections -Wl,--strip-all)
  # Nobody needs their names, nor calls of them by way of tables.
  target_link_options(terroir PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/local_symbols.map)
  set_property(TARGET terroir APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/local_symbols.map)
  # Constants share the pages of code: two boundaries of pages less.
  target_link_options(terroir PRIVATE -Wl,-z,noseparate-code)
  # Most relocations are those of virtual tables: packed, they take a thirtieth of the space (glibc 2.36 and later read them).
  include(CheckLinkerFlag)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs TERROIR_LINKER_PACKS_RELOCATIONS)
  if(TERROIR_LINKER_PACKS_RELOCATIONS)
    target_link_options(terroir PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
  foreach(objects IN LISTS terroir_all_objects)
    target_compile_options(${objects} PRIVATE -ffunction-sections -fdata-sections)
  endforeach()
endif()
