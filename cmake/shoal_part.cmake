# shoal_district(engine USES base model plan): a folder of shoal/, which may use those named. shoal::engine links all
# of its parts and all that it uses.
#
# shoal_part(cpu [FOLDERS movement elementwise] [PUBLIC cpu.h] [LINK hwy]): one library from the .cc files of a
# folder of the district (of the district's own folder where the names are equal), one test program from its
# *_test.cc. A part may use the parts declared before it. FOLDERS names its subfolders, bottom first: each may include
# the part's own headers and the folders named before it. PUBLIC names the headers that are installed; they include
# public ones only. tools/check_layers.py enforces USES, the order of parts, FOLDERS and PUBLIC; LINK names libraries
# from outside.
#
# WITH DATA CLUSTER: built where SHOAL_DATA and SHOAL_CLUSTER are on. INTERNAL: not in libshoal. COLD: the part has no
# loop over elements, and is compiled quickly. PRECOMPILED names the headers it begins with (precompiled.cmake) where
# they are not `graph`. KERNELS: what the optimiser makes of the part is tested, too. OUTER: no other part's hot path
# calls it and no fuzzer looks for a way through it, so with sanitizers it is not optimised at all. UNSANITIZED: it is
# tested in the optimised build, because drivers that it loads do not run under sanitizers, or its tests take minutes.
add_library(shoal_flags INTERFACE)
target_compile_options(shoal_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${SHOAL_WERROR}>:-Werror>
  # g++ 12 warns of overlapping copies inside std::string where there are none (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # Every such CPU has NEON, so there is no set to choose at run time; kernels ask for extensions of it
  # themselves (shoal/engine/cpu/instruction_set.h). Highway 1.0 would choose: it asks for
  # AES as well, which a Raspberry Pi 3 or 4 lacks, and would fall back to scalar code there. Without
  # the header it asks with, it also leaves AES out of what the compiler may use.
  target_compile_definitions(shoal_flags INTERFACE HWY_COMPILE_ONLY_STATIC TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
if(SHOAL_SANITIZE)
  # Global, so that every object and every program agree; a failed check ends the program.
  add_compile_options(-fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SHOAL_SANITIZE})
  if(SHOAL_SANITIZE MATCHES "address.*undefined" AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # What the address sanitizer finds as well, at the latest when such a pointer is used. To compile
    # the first takes 10 % of the time, the last 15 %.
    add_compile_options(-fno-sanitize=object-size,vptr,pointer-overflow)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_link_options(-fuse-ld=lld)  # a quarter of the time, for more than a hundred programs
    if(SHOAL_SANITIZE MATCHES address)
      # What sanitizers note about each check holds addresses: 1.4 million, which the loader would correct each time
      # the program starts. Tests start it some thousand times.
      add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
    endif()
  endif()
endif()

# For tests, programs and cold parts: minutes less to compile on two cores; what takes time when they
# run is in the other libraries.
set(quickly_compiled $<$<CONFIG:Release>:-O1>)
# For light tests, which are no place to look for undefined behaviour, nor to count what a fuzzer reached.
set(barely_compiled $<$<CONFIG:Debug,Release>:-O0>)
# The parts that hostile bytes reach first: in them fuzzers count what they reached. Counting takes a tenth
# of compiling.
set(fuzzed base model_tensor model_graph model_ops model_onnx model_passes train_data engine_session cluster_net
  cluster_messages cluster_worker cluster_coordinator cluster_data_parallel cluster_members)
set(uncounted)
if(SHOAL_SANITIZE MATCHES fuzzer)
  set(uncounted -fno-sanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table,stack-depth,edge)
endif()
list(APPEND barely_compiled ${uncounted})
# For outer parts and the command line, which are a place to look for undefined behaviour: half to two thirds of
# the time of -O1. Not for parts that see every pixel: `hostile` and `cli` took two minutes longer.
set(outer_compiled $<$<CONFIG:Debug>:-O0> ${uncounted})
if(SHOAL_SANITIZE MATCHES undefined)
  list(APPEND barely_compiled -fno-sanitize=undefined)
endif()

# Parts that tests with threads run little of: what makes a network and gets it ready, and few reference functions. So
# they are not optimised for the thread sanitizer, either.
set(seldom_run model_ops model_onnx model_passes model_zoo train_step)

# For parts with kernels: the instruction sets that are worth their compile time. SSSE3 alone has not been
# sold since 2010, and the vectors of SVE have no size at compile time, so that they cannot be held in
# arrays. With sanitizers, AVX2 and the scalar form stand for all: clang takes minutes for each further
# one of the larger loops.
set(disabled "HWY_SSSE3|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
if(SHOAL_SANITIZE)
  string(APPEND disabled "|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL")
endif()
set(instruction_sets "HWY_DISABLED_TARGETS=(${disabled})")

include(cmake/precompiled.cmake)
include(cmake/unity.cmake)

option(SHOAL_TESTS_TOGETHER "Make one program of the tests of parts, whose own programs are built by name only" ${SHOAL_UNITY})

if(SHOAL_TESTS)
  # For `ctest --resource-spec-file cores.json`, as the preset says: a test that computes has a core to itself, and gives
  # way to those that wait for processes, sockets and clocks. Of these, `ctest -j3` runs one beside two others.
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  file(WRITE ${PROJECT_BINARY_DIR}/cores.json
    "{\"version\": {\"major\": 1, \"minor\": 0}, \"local\": [{\"cores\": [{\"id\": \"0\", \"slots\": ${cores}}]}]}\n")
  # Who may leave idle priority again, as root may, prepares plans at it: beside tests that compute, each time waits for
  # two seconds. So tests run without that privilege, as users do, but for scripts with the label `as_root`.
  set(as_user)
  execute_process(COMMAND setpriv --bounding-set -sys_nice true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(NOT CMAKE_CROSSCOMPILING AND refused EQUAL 0)
    set(as_user setpriv --bounding-set -sys_nice)
  endif()
  set(gives_way ${as_user})
  if(SHOAL_TESTS_ONCE AND NOT SHOAL_SANITIZE)
    list(APPEND gives_way nice -n 10)
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Programs that hand hostile bytes to what reads them, and those of the engine and the cluster whose code runs on
  # several threads: `make test` runs them with sanitizers only.
  set(sanitized base_test model_tensor_test model_graph_test model_onnx_test engine_inputs_test engine_session_test
    session_threads_test train_data_test cluster_net_test cluster_test federated_workers_test)
  # Programs whose code runs on several threads; `make test-all` runs them under the thread sanitizer.
  set(threaded base_test engine_session_test session_threads_test video_keyframe_test cluster_net_test
    cluster_emulate_test cluster_test cluster_chaos_test)
  # Where most of a program's tests use one thread: those that use several.
  set(threads_of_cluster_chaos_test Overload.*)
  # All but deciders in virtual time and files of plans, which make no thread and take a third of the time.
  set(threads_of_cluster_test -PlanStores.*:ProfileStores.*:Weights.*:RequestLoad.*:Dealer.*:Verified.OnlyTheLiarIsAccused:Verified.ReportsAreNotBelievedAgainstThePlan)
  set(threads_of_video_keyframe_test AsyncFeatures.*)
  add_custom_target(threaded_tests)
  add_custom_target(sanitized_tests)  # those of `make test`
  # Programs that take a minute or more in one of the builds.
  set(long engine_opencl_test cluster_test cluster_net_test)
endif()

# shoal_test(laws_test SOURCES laws_test.cc LINK shoal::model [LABELS fast] [OPTIMISED] [LIGHT])
# OPTIMISED: it takes minutes where sanitizers watch, and is no part of such builds. LIGHT: what its own sources
# compute is little. TOGETHER: it may be a part of one program (SHOAL_TESTS_TOGETHER). SHARDS: in how many parts it is
# run, one after the other or at once. The label `all`: `make test-all` runs it, `make test` does not.
function(shoal_test name)
  cmake_parse_arguments(ARG "LIGHT;TOGETHER;OPTIMISED" "SHARDS" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} shoal_flags GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${quickly_compiled})
  if(ARG_LIGHT)
    target_compile_options(${name} PRIVATE ${barely_compiled})
  endif()
  shoal_precompile(${name} test)
  shoal_batches(${name})
  set(is_sanitized FALSE)
  if(name IN_LIST sanitized)
    set(is_sanitized TRUE)
  endif()
  if((ARG_OPTIMISED AND SHOAL_SANITIZE) OR (is_sanitized AND NOT SHOAL_SANITIZE AND SHOAL_TESTS_ONCE))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(ARG_TOGETHER AND SHOAL_TESTS_TOGETHER AND NOT is_sanitized AND
     NOT (name IN_LIST threaded AND SHOAL_SANITIZE STREQUAL thread))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
    set_property(GLOBAL APPEND PROPERTY SHOAL_SOURCES_TOGETHER ${ARG_SOURCES})
    set_property(GLOBAL APPEND PROPERTY SHOAL_LINKED_TOGETHER ${ARG_LINK})
    return()
  endif()
  if(is_sanitized)
    string(APPEND ARG_LABELS -sanitized)
    add_dependencies(sanitized_tests ${name})
  endif()
  if(name IN_LIST threaded)
    string(APPEND ARG_LABELS -threads)  # one word: gtest_discover_tests takes no list
    add_dependencies(threaded_tests ${name})
  endif()
  if(NOT SHOAL_SANITIZE AND NOT SHOAL_TESTS_ONCE)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABELS}")
    return()
  endif()
  # Starting a program takes longer than most tests do, with sanitizers above all. Where all of them
  # run, as in `make test`: half of its tests at a time.
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 2)
  endif()
  set(only_threads)
  if(SHOAL_SANITIZE STREQUAL thread AND threads_of_${name})
    set(only_threads ";GTEST_FILTER=${threads_of_${name}}")
  endif()
  set(cost 0)
  if(ARG_LABELS MATCHES slow OR name IN_LIST long)
    set(cost 50)  # not the last to begin, when the other core has nothing left to do
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${gives_way} $<TARGET_FILE:${name}> --gtest_brief=1)
    set_tests_properties(${name}.${shard} PROPERTIES LABELS "${ARG_LABELS}" COST ${cost} RESOURCE_GROUPS cores:1
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}${only_threads}")
  endforeach()
endfunction()

# Once all tests are known: the program that has those that may be together. Their sources are compiled in a third
# of the objects then, and linked once.
function(shoal_tests_together)
  get_property(sources GLOBAL PROPERTY SHOAL_SOURCES_TOGETHER)
  get_property(linked GLOBAL PROPERTY SHOAL_LINKED_TOGETHER)
  if(sources)
    list(REMOVE_DUPLICATES linked)
    shoal_test(parts_test SOURCES ${sources} LINK ${linked} LIGHT SHARDS 24)
  endif()
endfunction()

function(shoal_district name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND shoal::)
  add_library(shoal_district_${name} INTERFACE)
  add_library(shoal::${name} ALIAS shoal_district_${name})
  target_link_libraries(shoal_district_${name} INTERFACE ${ARG_USES})
  set(district ${name} PARENT_SCOPE)
  set_property(GLOBAL PROPERTY SHOAL_PARTS_OF_${name} ${ARG_USES})
endfunction()

function(shoal_part name)
  cmake_parse_arguments(ARG "COLD;KERNELS;OUTER;UNSANITIZED;INTERNAL" "PRECOMPILED" "FOLDERS;PUBLIC;LINK;WITH" ${ARGN})
  foreach(option ${ARG_WITH})
    if(NOT SHOAL_${option})
      return()
    endif()
  endforeach()
  set(folder ${name}/)
  set(part ${district}_${name})
  if(name STREQUAL district)
    set(folder)
    set(part ${name})
  endif()
  set(patterns ${folder}*.cc)
  foreach(subfolder ${ARG_FOLDERS})
    list(APPEND patterns ${folder}${subfolder}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(headers graph)
  if(ARG_PRECOMPILED)
    set(headers ${ARG_PRECOMPILED})
  endif()
  get_property(below GLOBAL PROPERTY SHOAL_PARTS_OF_${district})
  add_library(shoal_${part} STATIC ${sources})
  target_include_directories(shoal_${part} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(shoal_${part} PUBLIC ${below} PRIVATE ${ARG_LINK} shoal_flags)
  target_link_libraries(shoal_district_${district} INTERFACE shoal_${part})
  set_property(GLOBAL APPEND PROPERTY SHOAL_PARTS_OF_${district} shoal_${part})
  if(ARG_COLD)
    target_compile_options(shoal_${part} PRIVATE ${quickly_compiled})
    # Inner parts not at -O0 with sanitizers: `hostile`, `cli` and cluster_test then take minutes longer,
    # more than compiling gains.
  endif()
  if(ARG_OUTER OR (part IN_LIST seldom_run AND SHOAL_SANITIZE STREQUAL thread))
    target_compile_options(shoal_${part} PRIVATE ${outer_compiled})
  elseif(NOT part IN_LIST fuzzed)
    target_compile_options(shoal_${part} PRIVATE ${uncounted})
  endif()
  # libshoal.so exports what public headers declare: they push default visibility.
  set_target_properties(shoal_${part} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY SHOAL_LIBRARY_PARTS shoal_${part})
    if(NOT DATA IN_LIST ARG_WITH AND NOT CLUSTER IN_LIST ARG_WITH)
      set_property(GLOBAL APPEND PROPERTY SHOAL_ENGINE_PARTS shoal_${part})
    endif()
  endif()
  list(TRANSFORM ARG_PUBLIC PREPEND shoal/${district}/${folder})
  set_property(GLOBAL APPEND PROPERTY SHOAL_PUBLIC_HEADERS ${ARG_PUBLIC})

  shoal_precompile(shoal_${part} ${headers})
  shoal_batches(shoal_${part})

  if(tests AND SHOAL_TESTS)
    set(kind LIGHT TOGETHER)
    if(ARG_KERNELS)
      set(kind)
    elseif(ARG_UNSANITIZED)
      set(kind OPTIMISED LIGHT)
    endif()
    shoal_test(${part}_test SOURCES ${tests} LINK shoal_${part} ${kind})
  endif()
endfunction()
