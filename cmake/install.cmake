# What a user of the library gets: libshoal.so and libshoal.a, made from the objects of the parts, the
# public headers, find_package(shoal) and pkg-config. Called after all parts are defined.
#
# One library has all that was built: the engine, which needs Highway only, and unless they were left
# out (SHOAL_DATA, SHOAL_CLUSTER) images and data sets, and clusters.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(library_parts GLOBAL PROPERTY SHOAL_LIBRARY_PARTS)
get_property(engine_parts GLOBAL PROPERTY SHOAL_ENGINE_PARTS)

# What these parts need from outside.
function(shoal_needs_of_parts result)
  set(all)
  foreach(part ${ARGN})
    get_target_property(needed ${part} LINK_LIBRARIES)
    list(FILTER needed EXCLUDE REGEX "^shoal")
    list(APPEND all ${needed})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# The same for a linker: "-lhwy".
function(shoal_linker_flags_of_parts result)
  shoal_needs_of_parts(needed ${ARGN})
  set(flags)
  foreach(library ${needed})
    set(file ${library})
    if(TARGET ${library})
      get_target_property(file ${library} IMPORTED_LOCATION)
      if(NOT file)
        get_target_property(file ${library} IMPORTED_LOCATION_RELEASE)
      endif()
    endif()
    if(file MATCHES "/lib([^/]+)\\.(so|a)$")
      list(APPEND flags -l${CMAKE_MATCH_1})
    elseif(file AND NOT TARGET ${library})
      list(APPEND flags -l${library})
    endif()  # else it is headers only, or -pthread
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# Gives a library the objects of these parts and what they need.
function(shoal_link_parts target)
  foreach(part ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  shoal_needs_of_parts(needed ${ARGN})
  target_link_libraries(${target} PRIVATE ${needed})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  if(NOT SHOAL_SANITIZE)  # sanitizers leave their own symbols to the program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

add_library(shoal_shared SHARED)
shoal_link_parts(shoal_shared ${library_parts} shoal_c)
set_target_properties(shoal_shared PROPERTIES OUTPUT_NAME shoal VERSION 1 SOVERSION 1
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libshoal.map)
target_link_options(shoal_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libshoal.map)
add_library(shoal_static STATIC)
shoal_link_parts(shoal_static ${library_parts} shoal_c)
set_target_properties(shoal_static PROPERTIES OUTPUT_NAME shoal)
if(SHOAL_TESTS)
  # The engine alone, for a test that it needs nothing but Highway.
  add_library(shoal_engine SHARED)
  shoal_link_parts(shoal_engine ${engine_parts})
endif()
add_custom_target(shared DEPENDS shoal_shared)
if(SHOAL_SANITIZE)  # nobody installs such a build, and its tests link the parts
  set_target_properties(shoal_shared shoal_static PROPERTIES EXCLUDE_FROM_ALL ON)
  if(SHOAL_TESTS)
    set_target_properties(shoal_engine PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endif()

install(TARGETS shoal_shared shoal_static
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
get_property(public_headers GLOBAL PROPERTY SHOAL_PUBLIC_HEADERS)
foreach(header shoal/shoal.h ${public_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
# The paths that headers had in 0.1 still work; each is one line. For one release.
file(STRINGS cmake/old_headers.txt moved_headers REGEX "^shoal/")
foreach(line ${moved_headers})
  separate_arguments(line)
  list(POP_FRONT line old new)
  if(new IN_LIST public_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/old_headers/${old} "#pragma once\n#include \"${new}\"\n")
    cmake_path(GET old PARENT_PATH folder)
    install(FILES ${PROJECT_BINARY_DIR}/old_headers/${old} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endif()
endforeach()
install(FILES bindings/c/include/shoal/c/shoal.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shoal/c)

shoal_linker_flags_of_parts(SHOAL_STATIC_LIBS_LIST ${library_parts} shoal_c)
list(JOIN SHOAL_STATIC_LIBS_LIST " " SHOAL_STATIC_LIBS)
set(SHOAL_COMPONENTS engine c static)
if(SHOAL_DATA)
  list(APPEND SHOAL_COMPONENTS data)
endif()
if(SHOAL_CLUSTER)
  list(APPEND SHOAL_COMPONENTS cluster)
endif()

configure_package_config_file(cmake/shoal-config.cmake.in shoal-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shoal PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(shoal-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shoal-config.cmake ${PROJECT_BINARY_DIR}/shoal-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shoal)
# Found from where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH SHOAL_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/shoal.pc.in shoal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET shoal)
  install(TARGETS shoal RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET shoal_simulation)
  install(TARGETS shoal_simulation RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shoal)
endif()
if(TARGET shoal_decode)
  install(TARGETS shoal_decode shoal_encode RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shoal)
endif()
if(SHOAL_CLUSTER)
  file(READ apps/systemd/shoal-worker.service unit)
  string(REPLACE /usr/local/bin ${CMAKE_INSTALL_FULL_BINDIR} unit "${unit}")
  file(CONFIGURE OUTPUT shoal-worker.service CONTENT "${unit}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/shoal-worker.service DESTINATION lib/systemd/system)
endif()

# All that is installed, without tests and benchmarks.
add_custom_target(shoal_installed DEPENDS shoal_shared shoal_static)
foreach(target shoal shoal_decode shoal_encode shoal_grpc_door shoal_glsl shoal_python)
  if(TARGET ${target})
    add_dependencies(shoal_installed ${target})
  endif()
endforeach()
