# Finds libtorch inside a torch wheel and gives the target Libtorch::Libtorch.
#
# The wheel's TorchConfig.cmake is not used: that of the CUDA wheel requires an
# installed CUDA toolkit, although this project compiles no CUDA. Headers and
# libraries suffice, and both wheels have them.
#
# The torch package folder is the first of
#   -DCHIMERA_TORCH=<.../site-packages/torch>
#   Torch_DIR, variable or environment (<...>/torch/share/cmake/Torch)
#   the torch of ${CHIMERA_PYTHON}, variable or environment
#   the torch of .venv/bin/python here, of the active environment, of python3

# The folder of the torch that `python` would import, without importing it.
function(_libtorch_of_python python result)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u, os
print(os.path.dirname(u.find_spec('torch').origin))"
    OUTPUT_VARIABLE folder RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed)
    set(folder "")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

set(_folders "")
if(CHIMERA_TORCH)
  list(APPEND _folders ${CHIMERA_TORCH})
else()
  foreach(_config "${Torch_DIR}" "$ENV{Torch_DIR}")
    if(_config)
      get_filename_component(_folder "${_config}/../../.." ABSOLUTE)
      list(APPEND _folders ${_folder})
    endif()
  endforeach()
  foreach(_python "${CHIMERA_PYTHON}" "$ENV{CHIMERA_PYTHON}"
          "${PROJECT_SOURCE_DIR}/.venv/bin/python"
          "$ENV{VIRTUAL_ENV}/bin/python" python3)
    if(_python AND NOT _folders)
      _libtorch_of_python("${_python}" _folders)
    endif()
  endforeach()
endif()

find_path(Libtorch_INCLUDE_DIR ATen/ATen.h
  PATHS ${_folders} PATH_SUFFIXES include NO_DEFAULT_PATH)
foreach(_name torch torch_cpu c10 torch_cuda c10_cuda)
  find_library(Libtorch_${_name}_LIBRARY ${_name}
    PATHS ${_folders} PATH_SUFFIXES lib NO_DEFAULT_PATH)
  mark_as_advanced(Libtorch_${_name}_LIBRARY)
endforeach()
mark_as_advanced(Libtorch_INCLUDE_DIR)

set(Libtorch_VERSION "")
set(_header ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h)
if(EXISTS ${_header})
  file(STRINGS ${_header} _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX MATCHALL "[0-9]+" _numbers "${_lines}")
  string(REPLACE ";" "." Libtorch_VERSION "${_numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_torch_LIBRARY Libtorch_torch_cpu_LIBRARY
                Libtorch_c10_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "no torch wheel: ./dev installs one, or pass \
-DCHIMERA_TORCH=<site-packages>/torch, or -DCHIMERA_WITH_TORCH=OFF")

if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  # at::parallel_for is a template: without OpenMP it would run on one thread.
  # OpenMP is enabled by flag, not by path, so that the wheel's libgomp serves
  # both at run time.
  find_package(OpenMP REQUIRED)
  separate_arguments(_openmp UNIX_COMMAND "${OpenMP_CXX_FLAGS}")
  # The wheel has headers of another fmt version without its library, so the
  # system's headers come first, in a folder that holds nothing else.
  find_package(fmt REQUIRED)
  get_target_property(_fmt fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fmt_first)
  file(CREATE_LINK ${_fmt}/fmt ${CMAKE_BINARY_DIR}/fmt_first/fmt SYMBOLIC)
  add_library(Libtorch::Libtorch INTERFACE IMPORTED)
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE
    ${CMAKE_BINARY_DIR}/fmt_first
    ${Libtorch_INCLUDE_DIR}
    ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include)
  # libtorch.so has no symbols and torch_cuda registers itself when loaded: the
  # linker would drop both as unneeded.
  get_filename_component(_lib ${Libtorch_c10_LIBRARY} DIRECTORY)
  target_compile_options(Libtorch::Libtorch INTERFACE ${_openmp})
  target_link_options(Libtorch::Libtorch INTERFACE
    ${_openmp} -Wl,-rpath,${_lib})
  target_link_libraries(Libtorch::Libtorch INTERFACE -Wl,--push-state,--no-as-needed
    ${Libtorch_torch_LIBRARY} ${Libtorch_torch_cpu_LIBRARY}
    ${Libtorch_c10_LIBRARY})
  foreach(_name torch_cuda c10_cuda)
    if(Libtorch_${_name}_LIBRARY)
      target_link_libraries(Libtorch::Libtorch INTERFACE
        ${Libtorch_${_name}_LIBRARY})
    endif()
  endforeach()
  target_link_libraries(Libtorch::Libtorch INTERFACE -Wl,--pop-state)
endif()
