# How every target of the project is built: one warning set, one way to turn a
# folder into a room's library, one way to turn its *_test.cc into a test.

add_library(chimera_flags INTERFACE)
target_include_directories(chimera_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(chimera_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror
  -Wno-sign-conversion
  # Designated initializers leave the rest at its default on purpose.
  -Wno-missing-field-initializers
  # Rooms end up in a shared library too (cli/run_module.h). Everywhere, and by
  # hand, because programs and libraries share a precompiled header.
  -fPIC)
# g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug
# 105651), and bounds that are not there either. The sanitizers see real ones.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(chimera_flags INTERFACE
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(CHIMERA_SANITIZE)
  target_compile_options(chimera_flags INTERFACE
    -fsanitize=${CHIMERA_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(chimera_flags INTERFACE -fsanitize=${CHIMERA_SANITIZE})
endif()

# For targets that include torch. Lines and names are what a sanitizer prints;
# full debug information about torch's headers doubles the time to compile.
# ASan and UBSan need nothing else: libtorch is not instrumented, and content.
add_library(chimera_torch_flags INTERFACE)
target_compile_options(chimera_torch_flags INTERFACE
  $<$<CONFIG:RelWithDebInfo>:-g1>)

# For what runs once: tests, flags, config, reports. Compiles faster, and g++
# takes precompiled headers of other levels of optimisation.
add_library(chimera_cold INTERFACE)
target_compile_options(chimera_cold INTERFACE -O1)

include(ChimeraInstall)

# chimera_sources(TARGET FOLDER [EXCLUDE regex])
#
# Every .cc below the folder that is not a test. Globbed, so that adding a
# schedule is one file and one registry line, with no build file to edit.
function(chimera_sources target folder)
  cmake_parse_arguments(arg "" "EXCLUDE" "" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  target_sources(${target} PRIVATE ${sources})
endfunction()

# What nearly every file of the rooms above torch includes.
function(chimera_common_headers target)
  if(NOT TARGET chimera_headers)
    chimera_read_once(chimera_headers HEADERS <fmt/format.h> <algorithm>
      <functional> <map> <memory> <optional> <string> <string_view> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM chimera_headers)
endfunction()

# chimera_room(NAME [COLD] [ROOMS rooms it may include] [LIBS third-party targets]
#              [EXCLUDE regex of sources that are a library of their own])
function(chimera_room name)
  cmake_parse_arguments(arg "COLD" "EXCLUDE" "ROOMS;LIBS" ${ARGN})
  add_library(chimera_${name} STATIC)
  if(arg_COLD)
    target_link_libraries(chimera_${name} PRIVATE
      $<BUILD_INTERFACE:chimera_cold>)
  endif()
  chimera_sources(chimera_${name} src/chimera/${name} EXCLUDE ${arg_EXCLUDE})
  list(TRANSFORM arg_ROOMS PREPEND chimera_)
  target_link_libraries(chimera_${name} PUBLIC ${arg_ROOMS}
    PRIVATE $<BUILD_INTERFACE:chimera_flags> fmt::fmt ${arg_LIBS})
  chimera_common_headers(chimera_${name})
  chimera_install(${name})
  if(CHIMERA_TESTS)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/src/chimera/${name}/*_test.cc)
    if(tests)
      chimera_test(${name}_test SOURCES ${tests} LIBS chimera_${name})
    endif()
  endif()
endfunction()

# The transport between processes: the part of comm that needs an MPI. It uses
# MPI's C interface; mpi.h would bring in removed C++ bindings too, if not told
# otherwise (by Open MPI's and MPICH's names).
function(chimera_comm_mpi)
  enable_language(C)  # FindMPI asks a compiler
  find_package(MPI 3.0 REQUIRED COMPONENTS C)
  add_library(chimera_comm_mpi STATIC)
  chimera_sources(chimera_comm_mpi src/chimera/comm/mpi)
  target_link_libraries(chimera_comm_mpi PUBLIC chimera_comm
    PRIVATE $<BUILD_INTERFACE:chimera_flags> MPI::MPI_C)
  target_compile_definitions(chimera_comm_mpi PRIVATE
    OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  chimera_install(comm_mpi)
endfunction()

# The part of the model room that knows files but not torch, as a library of its
# own: it builds in seconds and runs under every sanitizer and the fuzzers.
function(chimera_model_files)
  set(folder ${PROJECT_SOURCE_DIR}/src/chimera/model)
  file(GLOB sources CONFIGURE_DEPENDS
    ${folder}/safetensors*.cc ${folder}/hf_*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(chimera_model_files STATIC ${sources})
  target_link_libraries(chimera_model_files PUBLIC chimera_base chimera_config
    PRIVATE $<BUILD_INTERFACE:chimera_flags> fmt::fmt)
  chimera_common_headers(chimera_model_files)
  chimera_install(model_files)
  if(CHIMERA_TESTS)
    chimera_test(model_files_test SOURCES ${tests} LIBS chimera_model_files)
  endif()
endfunction()

# chimera_read_once(TARGET HEADERS headers [LIBS targets])
#
# Headers that are read once for all targets which precompile with REUSE_FROM
# this one, and have the same flags.
function(chimera_read_once target)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBS" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${target}.cc CONTENT "")
  add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/${target}.cc)
  target_link_libraries(${target} PRIVATE chimera_flags fmt::fmt ${arg_LIBS})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()

# chimera_test(NAME SOURCES files LIBS targets [LABEL unit|dist|slow])
function(chimera_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} chimera_flags chimera_cold
    fmt::fmt GTest::gmock GTest::gtest_main rapidcheck
    rapidcheck_gtest)
  if(NOT TARGET chimera_test_headers)
    chimera_read_once(chimera_test_headers HEADERS <gmock/gmock.h>
      <gtest/gtest.h> LIBS GTest::gmock GTest::gtest)
  endif()
  target_precompile_headers(${name} REUSE_FROM chimera_test_headers)
  target_compile_definitions(${name} PRIVATE
    CHIMERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600)
endfunction()

# chimera_torch_room(NAME [ROOMS rooms] [EXCLUDE regex of torch-free sources])
#
# A room below the line. Tests share the room's precompiled header, which saves
# 10 s a file, and so its flags.
function(chimera_torch_room name)
  cmake_parse_arguments(arg "" "EXCLUDE" "ROOMS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/chimera/${name}/*.cc)
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM arg_ROOMS PREPEND chimera_)
  add_library(chimera_${name} STATIC ${sources})
  target_link_libraries(chimera_${name}
    PUBLIC ${arg_ROOMS} Libtorch::Libtorch
    PRIVATE $<BUILD_INTERFACE:chimera_flags>
            $<BUILD_INTERFACE:chimera_torch_flags> fmt::fmt)
  chimera_install(${name} TORCH)
  if(TARGET chimera_model AND NOT name STREQUAL model)
    target_precompile_headers(chimera_${name} REUSE_FROM chimera_model)
  else()
    target_precompile_headers(chimera_${name} PRIVATE <ATen/ATen.h>)
  endif()
  if(CHIMERA_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE chimera_${name}
      chimera_flags chimera_torch_flags chimera_cold fmt::fmt
      GTest::gmock GTest::gtest_main rapidcheck rapidcheck_gtest)
    target_precompile_headers(${name}_test REUSE_FROM chimera_model)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit TIMEOUT 600)
  endif()
endfunction()
