# Debian packages that have them: .ci/install_packages.
find_package(Threads REQUIRED)
find_package(pugixml REQUIRED)
find_package(TBB REQUIRED)
find_package(xsimd REQUIRED)

if(TERROIR_BUILD_TESTS)
  find_package(GTest REQUIRED)
  if(TERROIR_BUILD_BENCH)
    find_package(benchmark REQUIRED)
    # oneDNN is the peer of bench_layers, where it is installed. Its package file ends the configuration where OpenCL's
    # headers are missing, which the CPU engine does not need.
    find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
    find_library(DNNL_LIBRARY dnnl)
  endif()
endif()
if(TERROIR_BUILD_SAMPLES)
  find_package(nlohmann_json REQUIRED)
endif()
if(TERROIR_BUILD_TESTS OR TERROIR_BUILD_SAMPLES)
  find_package(CLI11 REQUIRED)
  find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
endif()
