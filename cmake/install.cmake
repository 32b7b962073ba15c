# What a user of the library gets: one static library of the engine, one for images and data sets,
# headers, find_package(shoal) and pkg-config. Called after all rooms are defined.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The engine is every room but those that need more libraries: data (JPEG, PNG, zlib), and net, cluster
# and emulate (OpenSSL, protobuf), which are in the binary only.
get_property(rooms GLOBAL PROPERTY SHOAL_ROOMS)
list(REMOVE_ITEM rooms shoal_data shoal_net shoal_cluster shoal_emulate)
set(objects)
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()
add_library(shoal_engine STATIC ${objects})
set_target_properties(shoal_engine PROPERTIES OUTPUT_NAME shoal LINKER_LANGUAGE CXX)

install(TARGETS shoal_engine shoal_data ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS shoal RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY shoal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "list.inc")

configure_package_config_file(cmake/shoal-config.cmake.in shoal-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shoal PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(shoal-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shoal-config.cmake ${PROJECT_BINARY_DIR}/shoal-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shoal)
configure_file(cmake/shoal.pc.in shoal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(SHOAL_CLUSTER)
  install(FILES apps/systemd/shoal-worker.service DESTINATION lib/systemd/system)
endif()
