# shoal_batches(TARGET): compiles sources of a target together where batches.py finds that they can be,
# at most a dozen at a time: headers are parsed and templates instantiated once for all of them.
#
# As with precompiled headers, not in builds with ccache. A build without any of the two, such as `make
# fast` with ccache, shows that each source includes what it uses. Where a source is given a name that
# another one of its batch has, the compiler says so until CMake runs again.
find_program(SHOAL_PYTHON3 python3)
if(SHOAL_PYTHON3)
  set(default ${SHOAL_PCH})
else()
  set(default OFF)
endif()
option(SHOAL_UNITY "Compile sources in batches where that can be done (python3)" ${default})
if(SHOAL_UNITY)
  # A name inside a function of a header may be that of another source; what a source keeps to itself
  # looks as if a header had it. Builds without batches warn.
  target_compile_options(shoal_flags INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

function(shoal_batches target)
  if(NOT SHOAL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}")
  list(LENGTH sources count)
  if(count LESS 2)
    return()
  endif()
  execute_process(COMMAND ${SHOAL_PYTHON3} ${PROJECT_SOURCE_DIR}/cmake/batches.py 12 ${sources}
    OUTPUT_VARIABLE batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  string(REPLACE ";" "|" batches "${batches}")
  string(REPLACE "\n" ";" batches "${batches}")
  foreach(batch ${batches})
    string(REPLACE "|" ";" batch "${batch}")
    list(GET batch 0 first)
    cmake_path(GET first STEM name)
    set_source_files_properties(${batch} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()
