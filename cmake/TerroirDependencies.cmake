# Debian packages: libpugixml-dev libxsimd-dev libtbb-dev; tests: libgtest-dev libbenchmark-dev;
# samples: libcli11-dev libstb-dev nlohmann-json3-dev.
find_package(Threads REQUIRED)
find_package(pugixml REQUIRED)
find_package(TBB REQUIRED)
find_package(xsimd REQUIRED)

if(TERROIR_BUILD_TESTS)
  find_package(GTest REQUIRED)
  if(TERROIR_BUILD_BENCH)
    find_package(benchmark REQUIRED)
  endif()
endif()
if(TERROIR_BUILD_SAMPLES)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
endif()
