# `cmake --install`: the binary, the modules' libraries and headers, and the
# package that find_package(chimera) finds (chimeraConfig.cmake.in). Warning
# flags are $<BUILD_INTERFACE:...>, so that users of the package do not inherit
# them.
#
# The public headers are installed as include/chimera/...; the headers that they
# include in turn are under include/chimera/internal, which has no promises.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# docs/library.md says what each is for.
set(CHIMERA_PUBLIC_HEADERS
  chimera.h
  base/result.h
  schedule/action.h schedule/schedule.h schedule/scheme.h
  schedule/validate.h schedule/lower.h schedule/forms.h
  trace/trace.h simulate/simulate.h search/search_order.h
  report/text.h report/svg.h
  config/run_config.h config/parse.h plan/planner.h)
set(CHIMERA_PUBLIC_TORCH_HEADERS
  model/module_layer.h train/train.h train/verify.h run/run.h)

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
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
      ${CMAKE_INSTALL_INCLUDEDIR}/chimera/internal)
endfunction()

function(_chimera_install_export name)
  install(EXPORT ${name}
    NAMESPACE chimera:: DESTINATION ${CHIMERA_PACKAGE_DIR})
endfunction()

function(_chimera_install_headers)
  set(public ${CHIMERA_PUBLIC_HEADERS})
  if(CHIMERA_WITH_TORCH)
    list(APPEND public ${CHIMERA_PUBLIC_TORCH_HEADERS})
  endif()
  set(source ${PROJECT_SOURCE_DIR}/src/chimera)
  set(include ${CMAKE_INSTALL_INCLUDEDIR}/chimera)
  file(GLOB_RECURSE headers RELATIVE ${source} CONFIGURE_DEPENDS ${source}/*.h)
  list(FILTER headers EXCLUDE REGEX "^(cli|commands)/|_for_tests.h$|_test_support.h$")
  foreach(header IN LISTS headers)
    get_filename_component(folder ${header} DIRECTORY)
    if(header IN_LIST public)
      install(FILES ${source}/${header} DESTINATION ${include}/${folder})
    else()
      install(FILES ${source}/${header}
        DESTINATION ${include}/internal/chimera/${folder})
    endif()
  endforeach()
endfunction()

# Installs the program, headers and package files.
function(chimera_install_package)
  install(TARGETS chimera RUNTIME DESTINATION bin)
  if(CHIMERA_WITH_TORCH)
    # Found as ../lib from bin.
    install(TARGETS chimera_commands LIBRARY DESTINATION lib)
  endif()
  _chimera_install_headers()
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
