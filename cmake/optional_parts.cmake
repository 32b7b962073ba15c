# Parts that a build may lack, because they need packages that not every machine has. The option of a part is
#   AUTO  built where its packages are, which are looked for each time that CMake runs,
#   ON    built; an error where its packages are missing,
#   OFF   not built.
# Afterwards the variable of the same name is ON or OFF in this directory and those below it; the cache
# keeps what was asked for. A line for each part says what is built, on the terminal and in parts.txt.
#
# shoal_optional_part(GRPC grpc "the server's gRPC" [DEFAULT OFF] [MAKE COMMAND] [UNLESS REASON]
#   [HEADERS VARIABLE FILE...] [LIBRARIES VARIABLE NAME...] [PROGRAMS VARIABLE NAME...] [PKG_CONFIG PREFIX MODULE...]
#   [BY FUNCTION PATTERN])
# Its option is SHOAL_GRPC, and the packages that it needs are those of the group `grpc` of packages.txt. MAKE: what
# builds it, unless it is `make build`. UNLESS: why AUTO leaves it out, or an empty text. BY: a function that
# searches, and sets `lacks` to what it misses; where it misses something, what it left in the cache under names
# that match the pattern is forgotten.
set(SHOAL_PARTS_FILE ${PROJECT_BINARY_DIR}/parts.txt)
file(WRITE ${SHOAL_PARTS_FILE} "")

# Appends to `lacks` what cannot be found. A path in the cache that is there no more is looked for again.
function(shoal_find_part kind)
  set(missing ${lacks})
  set(wanted ${ARGN})
  while(wanted)
    list(POP_FRONT wanted variable name)
    set(shown ${name})
    if(kind STREQUAL header)
      if(NOT EXISTS "${${variable}}/${name}")
        unset(${variable} CACHE)
      endif()
      find_path(${variable} ${name})
    else()
      if(NOT EXISTS "${${variable}}")
        unset(${variable} CACHE)
      endif()
      if(kind STREQUAL library)
        set(shown lib${name})
        find_library(${variable} ${name})
      else()
        find_program(${variable} ${name})
      endif()
    endif()
    if(NOT ${variable})
      list(APPEND missing ${shown})
    endif()
  endwhile()
  set(lacks ${missing} PARENT_SCOPE)
endfunction()

function(shoal_optional_part name group what)
  cmake_parse_arguments(ARG "" "DEFAULT;UNLESS;MAKE" "HEADERS;LIBRARIES;PROGRAMS;PKG_CONFIG;BY" ${ARGN})
  set(option SHOAL_${name})
  if(NOT ARG_MAKE)
    set(ARG_MAKE "make build")
  endif()
  if(NOT DEFINED ARG_DEFAULT)
    set(ARG_DEFAULT AUTO)
    # Build folders from before there was AUTO keep in a BOOL what was found when they were made.
    get_property(type CACHE ${option} PROPERTY TYPE)
    if(type STREQUAL BOOL)
      unset(${option} CACHE)
    endif()
  endif()
  set(${option} ${ARG_DEFAULT} CACHE STRING "AUTO, ON or OFF: ${what} (tools/setup ${group})")
  if(DEFINED CACHE{${option}})
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  endif()
  set(asked ${${option}})

  set(lacks)
  set(built OFF)
  if(asked STREQUAL AUTO AND ARG_UNLESS)
    set(why ${ARG_UNLESS})
  elseif(NOT asked)
    set(why "${option}=OFF; to have it: ")
    if(ARG_DEFAULT STREQUAL OFF)
      string(APPEND why "make all, or ")
    endif()
    string(APPEND why "tools/setup ${group} && cmake --preset release -D${option}=AUTO && ${ARG_MAKE}")
  else()
    shoal_find_part(header ${ARG_HEADERS})
    shoal_find_part(library ${ARG_LIBRARIES})
    shoal_find_part(program ${ARG_PROGRAMS})
    if(ARG_PKG_CONFIG)
      list(POP_FRONT ARG_PKG_CONFIG prefix)
      find_package(PkgConfig QUIET)
      if(PKG_CONFIG_FOUND)
        unset(__pkg_config_checked_${prefix} CACHE)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${ARG_PKG_CONFIG})
      endif()
      if(NOT ${prefix}_FOUND)
        list(APPEND lacks ${ARG_PKG_CONFIG})
      endif()
    endif()
    if(ARG_BY)
      list(POP_FRONT ARG_BY function pattern)
      cmake_language(CALL ${function})
      if(lacks)
        get_cmake_property(cached CACHE_VARIABLES)
        list(FILTER cached INCLUDE REGEX "${pattern}")
        foreach(variable ${cached})
          unset(${variable} CACHE)
        endforeach()
      endif()
    endif()
    list(JOIN lacks ", " missing)
    if(NOT lacks)
      set(built ON)
    elseif(NOT asked STREQUAL AUTO)
      message(FATAL_ERROR "${option}=${asked}, and this is missing for ${what}: ${missing}. tools/setup ${group} "
        "installs it; ${option}=AUTO builds without.")
    else()
      set(why "missing: ${missing}; to have it: tools/setup ${group} && ${ARG_MAKE}")
    endif()
  endif()

  if(built)
    set(line "${group}: built (${what})")
  else()
    set(line "${group}: not built (${what}); ${why}")
  endif()
  message(STATUS "Part ${line}")
  file(APPEND ${SHOAL_PARTS_FILE} "${line}\n")
  set(${option} ${built} PARENT_SCOPE)
endfunction()

function(shoal_find_mpi)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    set(lacks "MPI for C++" PARENT_SCOPE)
  endif()
endfunction()

# Debian's Python, not the first in PATH: its NumPy and pybind11 are the ones packages.txt names.
function(shoal_find_python)
  set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that the package is built for")
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 CONFIG QUIET)
  if(NOT Python_Development.Module_FOUND)
    list(APPEND lacks Python.h)
  endif()
  if(NOT pybind11_FOUND)
    list(APPEND lacks pybind11)
  endif()
  set(lacks ${lacks} PARENT_SCOPE)
endfunction()

# Why AUTO leaves a part out of this build.
set(sanitized)
if(SHOAL_SANITIZE)
  set(sanitized "a build with sanitizers is without")
endif()
set(without_data)
if(NOT SHOAL_DATA)
  set(without_data "it needs SHOAL_DATA")
endif()
set(without_cluster)
if(NOT SHOAL_CLUSTER)
  set(without_cluster "it needs SHOAL_CLUSTER")
endif()
set(without_server ${sanitized})
if(NOT SHOAL_DATA OR NOT SHOAL_CLUSTER)
  set(without_server "it needs SHOAL_DATA and SHOAL_CLUSTER")
endif()

# Debian's gRPC is not built with sanitizers: the thread sanitizer does not see what orders its threads.
shoal_optional_part(GRPC grpc "the server's gRPC" UNLESS "${without_server}"
  HEADERS SHOAL_GRPC_HEADERS grpcpp/grpcpp.h
  LIBRARIES SHOAL_GRPC_LIBRARY grpc++ SHOAL_GRPC_CORE grpc SHOAL_GRPC_BASE gpr
  PROGRAMS SHOAL_GRPC_PLUGIN grpc_cpp_plugin)
shoal_optional_part(VIDEO video "videos for `shoal watch`, by FFmpeg's libraries" UNLESS "${without_data}"
  PKG_CONFIG FFMPEG libavformat libavcodec libswscale libavutil)
# The libraries of the next three are looked for when they are used.
shoal_optional_part(MQTT mqtt "`shoal watch` publishes to an MQTT broker" UNLESS "${without_data}"
  HEADERS SHOAL_MQTT_HEADERS mosquitto.h)
# A driver such as PoCL compiles by LLVM in this process, in which the leak sanitizer then crashes.
shoal_optional_part(OPENCL opencl "devices by OpenCL" UNLESS "${sanitized}" HEADERS SHOAL_OPENCL_HEADERS CL/cl.h)
shoal_optional_part(VULKAN vulkan "devices by Vulkan" UNLESS "${sanitized}"
  HEADERS SHOAL_VULKAN_HEADERS vulkan/vulkan.h SHOAL_GLSLANG_HEADERS glslang/Include/glslang_c_interface.h
  LIBRARIES SHOAL_SPIRV_TOOLS SPIRV-Tools-opt)
shoal_optional_part(AVAHI avahi "workers are found by mDNS" UNLESS "${without_cluster}"
  HEADERS AVAHI avahi-client/client.h LIBRARIES AVAHI_CLIENT avahi-client AVAHI_COMMON avahi-common)
# OFF unless asked for, as `make all` does. MPI is linked to the binary itself: each command would load its 12
# libraries, which takes 11 ms, and a binary copied to a board would not start there without them.
shoal_optional_part(MPI mpi "a cluster of MPI's ranks" DEFAULT OFF UNLESS "${without_cluster}" BY shoal_find_mpi "^MPI_CXX_")
# OFF unless asked for: `make build` builds the binary only, and need not look for Python.
shoal_optional_part(PYTHON python "the Python package" DEFAULT OFF MAKE "make python" UNLESS "${without_data}"
  BY shoal_find_python "^(_?Python_|pybind11_DIR)")
