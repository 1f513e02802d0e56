# Functions that define all targets: one set of warnings, one way to turn a
# folder into a module's library, one way to turn its *_test.cc into a test.

add_library(chimera_flags INTERFACE)
target_include_directories(chimera_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(chimera_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror
  -Wno-sign-conversion
  # Designated initializers leave the other members at their defaults on
  # purpose.
  -Wno-missing-field-initializers
  # Modules are linked into a shared library too (commands/run_module.h). The
  # flag is set for all targets and by hand, because programs and libraries
  # share a precompiled header.
  -fPIC)
# g++ 12 reports overlaps in std::string's operator+ that do not exist (GCC bug
# 105651), and wrong array bounds. The sanitizers find real ones.
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

# Flags of targets that include torch. A sanitizer prints lines and names only;
# full debug information about torch's headers would double the compile time.
# libtorch itself is not instrumented, which ASan and UBSan allow.
add_library(chimera_torch_flags INTERFACE)
target_compile_options(chimera_torch_flags INTERFACE
  $<$<CONFIG:RelWithDebInfo>:-g1>)

# Flags of code that is not performance-critical: tests, command-line flags,
# config, reports. It compiles faster, and g++ accepts precompiled headers of
# another optimisation level.
add_library(chimera_cold INTERFACE)
target_compile_options(chimera_cold INTERFACE -O1)

include(ChimeraInstall)

# chimera_sources(TARGET FOLDER [SUBFOLDER to leave out])
#
# Adds every .cc below the folder that is not a test. Globbed, so that a new
# schedule is one file and one registry line, with no build file to edit.
function(chimera_sources target folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(without ${ARGN})
    list(FILTER sources EXCLUDE REGEX "/${folder}/${without}/")
  endforeach()
  target_sources(${target} PRIVATE ${sources})
endfunction()

# Precompiles headers that nearly every file of the torch-free modules includes.
function(chimera_common_headers target)
  if(NOT TARGET chimera_headers)
    chimera_read_once(chimera_headers HEADERS <fmt/format.h> <algorithm>
      <functional> <map> <memory> <optional> <string> <string_view> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM chimera_headers)
endfunction()

# chimera_module(NAME [COLD] [TORCH] [USES modules it may include]
#                [LIBS third-party targets] [WITHOUT subfolder])
#
# Makes the library chimera_NAME of all sources in src/chimera/NAME, and the
# test NAME_test of its *_test.cc. TORCH: the module may include torch.
function(chimera_module name)
  cmake_parse_arguments(arg "COLD;TORCH" "WITHOUT" "USES;LIBS" ${ARGN})
  set(library chimera_${name})
  chimera_note_module(${name} ${arg_TORCH} ${arg_USES})
  add_library(${library} STATIC)
  chimera_sources(${library} src/chimera/${name} ${arg_WITHOUT})
  if(NOT CHIMERA_WITH_MPI)
    list(REMOVE_ITEM arg_USES mpi)
  endif()
  list(TRANSFORM arg_USES PREPEND chimera_)
  target_link_libraries(${library} PUBLIC ${arg_USES}
    PRIVATE $<BUILD_INTERFACE:chimera_flags> fmt::fmt ${arg_LIBS})
  if(arg_COLD)
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:chimera_cold>)
  endif()
  if(arg_TORCH)
    target_link_libraries(${library} PUBLIC Libtorch::Libtorch
      PRIVATE $<BUILD_INTERFACE:chimera_torch_flags>)
    chimera_torch_headers(${library})
    chimera_install(${name} TORCH)
  else()
    chimera_common_headers(${library})
    chimera_install(${name})
  endif()
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/chimera/${name}/*_test.cc)
  if(arg_WITHOUT)
    list(FILTER tests EXCLUDE REGEX "/${arg_WITHOUT}/")
  endif()
  if(NOT CHIMERA_TESTS OR NOT tests)
    return()
  endif()
  if(arg_TORCH)
    chimera_torch_test(${name}_test SOURCES ${tests} LIBS ${library})
  else()
    chimera_test(${name}_test SOURCES ${tests} LIBS ${library})
  endif()
endfunction()

# chimera_note_module(NAME TORCH MODULES...)
#
# Records what the module needs, for the installed package: torch, toml++
# (modules that use config, directly or not), MPI, or nothing.
function(chimera_note_module name torch)
  get_property(with_config GLOBAL PROPERTY CHIMERA_CONFIG_MODULES)
  set(kind PLAIN)
  foreach(module IN LISTS name ARGN)
    if(module STREQUAL config OR module IN_LIST with_config)
      set(kind CONFIG)
    endif()
  endforeach()
  if(torch)
    set(kind TORCH)
  elseif(name STREQUAL mpi)
    set(kind MPI)
  endif()
  set_property(GLOBAL APPEND PROPERTY CHIMERA_${kind}_MODULES ${name})
endfunction()

# Precompiles ATen's headers once for all targets that include torch:
# chimera_model, the first such module, does it.
function(chimera_torch_headers target)
  if(target STREQUAL chimera_model)
    target_precompile_headers(${target} PRIVATE <ATen/ATen.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM chimera_model)
  endif()
endfunction()

# chimera_read_once(TARGET HEADERS headers [LIBS targets])
#
# Precompiles headers once for all targets that use REUSE_FROM this one and have
# the same flags.
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

# chimera_torch_test(NAME SOURCES files LIBS targets)
#
# A test that includes torch. It shares the modules' precompiled header, which
# saves 10 s per file, and therefore their flags.
function(chimera_torch_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} chimera_flags
    chimera_torch_flags chimera_cold fmt::fmt GTest::gmock GTest::gtest_main
    rapidcheck rapidcheck_gtest)
  chimera_torch_headers(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()
