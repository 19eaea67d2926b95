# Installs the build folder, moves what was installed, and builds and runs projects that know nothing else: a user's
# program with the shared and with the static library, a sample, and a library with a layer of its own.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DBUILD_TYPE=... -P run.cmake
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# What the projects call is optimised; they themselves are compiled in half the time, and link with more of the library,
# if they are not.
set(build_type -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
if(BUILD_TYPE STREQUAL "Release")
  list(APPEND build_type "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG")
endif()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(RENAME ${WORK}/installed ${WORK}/moved)

function(check_headers installed_folder)
  set(public_headers)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE headers RELATIVE ${folder} ${folder}/*)
    list(APPEND public_headers ${headers})
  endforeach()
  list(SORT public_headers)
  file(GLOB_RECURSE installed_headers RELATIVE ${WORK}/moved/${installed_folder} ${WORK}/moved/${installed_folder}/*)
  list(SORT installed_headers)
  if(NOT public_headers STREQUAL installed_headers)
    message(FATAL_ERROR "installed headers: ${installed_headers}\npublic headers: ${public_headers}")
  endif()
endfunction()
check_headers(include/terroir ${SOURCE}/runtime/include/terroir)
check_headers(include/terroir_openvino ${SOURCE}/runtime/compat/include ${BUILD}/runtime/compat/include)

run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/install/consumer -B ${WORK}/consumer
  ${build_type} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer_terroir ${WORK})
run(${WORK}/consumer/consumer_terroir_static ${WORK})

# OpenVINO's package is found when it is asked for by its folder, and not else.
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/install/openvino_consumer -B ${WORK}/openvino_consumer
  ${build_type} -DPROGRAMS=${SOURCE}/tests/compat
  -DOpenVINO_DIR=${WORK}/moved/lib/cmake/Terroir/openvino)
run(${CMAKE_COMMAND} --build ${WORK}/openvino_consumer)
run(${WORK}/openvino_consumer/models_in_code ${WORK})
run(${WORK}/openvino_consumer/c_api ${WORK})

run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/samples -B ${WORK}/samples
  ${build_type} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/samples --target hello_query_device)
run(${WORK}/samples/bin/hello_query_device)

# A layer of its own, with the installed headers alone.
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/samples/custom_layer -B ${WORK}/custom_layer
  ${build_type} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/custom_layer)
run(${BUILD}/bin/benchmark_app -m ${SOURCE}/samples/custom_layer/snake.xml -niter 2
  -extensions ${WORK}/custom_layer/bin/custom_layer.so)

# A device of its own, which wraps those of the installed library.
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/samples/custom_device -B ${WORK}/custom_device
  ${build_type} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/custom_device)
run(${WORK}/samples/bin/hello_query_device -extensions ${WORK}/custom_device/bin/custom_device.so)
