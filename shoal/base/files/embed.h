// SHOAL_EMBED: a file inside the binary. The assembler puts it into the read-only data: no
// generated source, no copy at run time.
//
//   SHOAL_EMBED(style, FOLDER "/style.css");   // FOLDER is given by the build, as a literal
//
// declares shoal_style_begin and shoal_style_end. The build has to name the file in OBJECT_DEPENDS
// of the source, or it is not compiled again when the file changes.
#pragma once

#include <cstddef>

#define SHOAL_EMBED(symbol, file)                                                            \
  asm(".section .rodata\n"                                                                   \
      ".balign 64\n"                                                                         \
      "shoal_" #symbol                                                                       \
      "_begin:\n"                                                                            \
      ".incbin \"" file                                                                      \
      "\"\n"                                                                                 \
      "shoal_" #symbol                                                                       \
      "_end:\n"                                                                              \
      ".byte 0\n"                                                                            \
      ".previous\n");                                                                        \
  extern "C" const std::byte shoal_##symbol##_begin[] __attribute__((visibility("hidden"))); \
  extern "C" const std::byte shoal_##symbol##_end[] __attribute__((visibility("hidden")))
