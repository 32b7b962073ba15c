# shoal_precompile(TARGET HEADERS): lets the sources of a target begin with headers that are parsed
# once for all targets that name the same: `graph` (the standard library's and shoal/model/graph/graph.h, which parts below
# it get, too: to parse the rest once more for them takes longer), `message` (protobuf's, too) or `test` (GoogleTest,
# too). An operator takes 1.7 s to compile without, 1.0 s with.
#
# Sources include what they use all the same: builds with ccache, which finds more of what was compiled
# before where no precompiled header stands between, are without.
if(CCACHE OR CMAKE_CXX_CLANG_TIDY)
  set(default OFF)
else()
  set(default ON)
endif()
option(SHOAL_PCH "Parse headers once that nearly all sources include" ${default})
if(SHOAL_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # What g++ 12 inlines depends on the order of functions, which is another one here; some of its
  # warnings of std::string's own copies come of that. Builds without keep them.
  target_compile_options(shoal_flags INTERFACE
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized)
endif()

set(precompiled_graph
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <filesystem> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <thread> <utility>
  <variant> <vector> [["shoal/model/graph/graph.h"]])
set(precompiled_message ${precompiled_graph}
  <google/protobuf/message_lite.h> <google/protobuf/repeated_field.h> <google/protobuf/arenastring.h>
  <google/protobuf/generated_message_util.h> <google/protobuf/extension_set.h>)
set(precompiled_test ${precompiled_graph} <gtest/gtest.h>)

function(shoal_precompile target headers)
  if(NOT SHOAL_PCH)
    return()
  endif()
  # A compiler takes a precompiled header only where it was made with the same flags; clang, with other sanitizers, too.
  get_target_property(type ${target} TYPE)
  set(owner precompiled_${headers})
  if(type STREQUAL EXECUTABLE)
    string(APPEND owner _for_programs)
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  if(quickly_compiled IN_LIST options AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT type STREQUAL EXECUTABLE)
    string(APPEND owner _cold)
  endif()
  list(GET barely_compiled 0 light)
  list(GET outer_compiled 0 outer)
  if(light IN_LIST options)
    string(APPEND owner _light)
  elseif(outer IN_LIST options AND CMAKE_BUILD_TYPE STREQUAL Debug)
    string(APPEND owner _outer)
  endif()
  if(NOT TARGET ${owner})
    file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cc "")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
    target_include_directories(${owner} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${owner} PRIVATE shoal_flags $<$<STREQUAL:${headers},test>:GTest::gtest>)
    target_precompile_headers(${owner} PRIVATE ${precompiled_${headers}})
    foreach(property COMPILE_OPTIONS CXX_VISIBILITY_PRESET VISIBILITY_INLINES_HIDDEN)
      get_target_property(value ${target} ${property})
      if(value)
        set_target_properties(${owner} PROPERTIES ${property} "${value}")
      endif()
    endforeach()
    if(type STREQUAL EXECUTABLE)
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
