# For `pip install .`: builds with the torch of the environment that the package
# is installed into, or only the torch-free half if it has none.
#
# pip builds in isolation: the environment's Python runs, but PYTHONPATH hides
# its packages. Without that variable they are visible again. Tools that build
# with another Python name the environment in VIRTUAL_ENV.
if(NOT CHIMERA_TORCH)
  foreach(_python "${Python_EXECUTABLE}" "$ENV{CHIMERA_PYTHON}"
          "$ENV{VIRTUAL_ENV}/bin/python")
    if(_python AND NOT CHIMERA_TORCH)
      execute_process(
        COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${_python} -c
          "import importlib.util as u, os
print(os.path.dirname(u.find_spec('torch').origin))"
        OUTPUT_VARIABLE CHIMERA_TORCH OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
    endif()
  endforeach()
endif()
if(CHIMERA_TORCH)
  message(STATUS "Python package: with chimera.torch, for ${CHIMERA_TORCH}")
else()
  message(STATUS "Python package: no torch found, so without chimera.torch")
  set(CHIMERA_WITH_TORCH OFF)
endif()
