# Makes memory errors harder to exploit: checked calls of the C library and of containers, guarded
# stacks and jumps, tables that are read-only once a program has started. Global, so that all objects
# agree. Sanitized builds check more, and are left alone. tests/hardening.sh looks at the result.
option(SHOAL_HARDEN "Compile and link with the usual hardening flags" ON)
if(NOT SHOAL_HARDEN OR SHOAL_SANITIZE)
  return()
endif()

include(CheckCXXCompilerFlag)
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER "SHOAL_KNOWS${flag}" known)
  check_cxx_compiler_flag("-Werror ${flag}" ${known})
  if(${known})
    add_compile_options(${flag})
  endif()
endforeach()

# Level 3 needs a compiler that knows the size of objects at run time. Without optimisation there is
# none. Packagers may have set another level.
set(level 2)
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
   (CMAKE_CXX_COMPILER_ID MATCHES Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 9))
  set(level 3)
endif()
add_compile_options("$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_link_options(-Wl,-z,relro,-z,now)
