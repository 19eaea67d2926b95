include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS terroir terroir_static terroir_extension EXPORT TerroirTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY runtime/include/terroir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT TerroirTargets NAMESPACE terroir:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Terroir)
configure_package_config_file(cmake/TerroirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/TerroirConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Terroir)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/TerroirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TerroirConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/TerroirConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Terroir)
