# `cmake --install`: the binary, the modules' libraries and headers, and the
# package that find_package(chimera) finds (chimeraConfig.cmake.in). Warning
# flags are $<BUILD_INTERFACE:...>, so that users of the package do not inherit
# them.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CHIMERA_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/chimera)

# chimera_install(MODULE [TORCH])
#
# Modules that need torch are in a separate export set, so that projects which
# use only the others never search for torch.
function(chimera_install module)
  cmake_parse_arguments(arg "TORCH" "" "" ${ARGN})
  set(export chimeraTargets)
  if(arg_TORCH)
    set(export chimeraTorchTargets)
  endif()
  target_compile_features(chimera_${module} PUBLIC cxx_std_20)
  set_target_properties(chimera_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS chimera_${module} EXPORT ${export}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

function(_chimera_install_export name)
  install(EXPORT ${name}
    NAMESPACE chimera:: DESTINATION ${CHIMERA_PACKAGE_DIR})
endfunction()

# Installs the program, headers and package files.
function(chimera_install_package)
  install(TARGETS chimera RUNTIME DESTINATION bin)
  if(CHIMERA_WITH_TORCH)
    # Found as ../lib from bin.
    install(TARGETS chimera_commands LIBRARY DESTINATION lib)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/chimera/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/chimera
    FILES_MATCHING PATTERN "*.h"
    PATTERN "*_for_tests.h" EXCLUDE
    PATTERN "*_test_support.h" EXCLUDE
    PATTERN "cli" EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DOCDIR})

  _chimera_install_export(chimeraTargets)
  if(CHIMERA_WITH_TORCH)
    _chimera_install_export(chimeraTorchTargets)
    get_filename_component(CHIMERA_BUILT_WITH_TORCH
      ${Libtorch_INCLUDE_DIR} DIRECTORY)
  endif()
  foreach(kind PLAIN CONFIG TORCH)
    get_property(CHIMERA_${kind}_MODULES GLOBAL
      PROPERTY CHIMERA_${kind}_MODULES)
  endforeach()
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/chimeraConfig.cmake.in
    ${PROJECT_BINARY_DIR}/chimeraConfig.cmake
    INSTALL_DESTINATION ${CHIMERA_PACKAGE_DIR}
    NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a minor version may break an interface.
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/chimeraConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES
    ${PROJECT_BINARY_DIR}/chimeraConfig.cmake
    ${PROJECT_BINARY_DIR}/chimeraConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindLibtorch.cmake
    DESTINATION ${CHIMERA_PACKAGE_DIR})
endfunction()
