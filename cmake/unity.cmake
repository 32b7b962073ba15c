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
  set_property(GLOBAL APPEND PROPERTY SHOAL_BATCHED ${target})
endfunction()

# Once all targets and the flags of their sources are known: one run of batches.py for all of them.
function(shoal_write_batches)
  get_property(targets GLOBAL PROPERTY SHOAL_BATCHED)
  set(lines)
  foreach(target ${targets})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    set(all)
    set(line ${target})
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      list(APPEND all ${source})
      # What has flags of its own, or is written while building, is compiled by itself.
      set(own)
      foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS HEADER_FILE_ONLY GENERATED)
        get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
        if(value)
          list(APPEND own ${property})
        endif()
      endforeach()
      if(source MATCHES "\\.cc$" AND NOT own)
        list(APPEND line ${source})
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES SOURCES "${all}")
    string(APPEND lines "${line}\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/batches/targets "${lines}")
  execute_process(COMMAND ${SHOAL_PYTHON3} ${PROJECT_SOURCE_DIR}/cmake/batches.py 12 ${PROJECT_BINARY_DIR}/batches
    INPUT_FILE ${PROJECT_BINARY_DIR}/batches/targets
    OUTPUT_VARIABLE batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "|" batches "${batches}")
  string(REPLACE "\n" ";" batches "${batches}")
  foreach(batch ${batches})
    string(REPLACE "|" ";" batch "${batch}")
    list(POP_FRONT batch target file)
    get_target_property(sources ${target} SOURCES)
    list(REMOVE_ITEM sources ${batch})
    set_target_properties(${target} PROPERTIES SOURCES "${sources};${file}")
  endforeach()
endfunction()
