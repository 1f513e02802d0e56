# The kernels of src/chimera/model/cuda, for builds against a CUDA torch. They
# register themselves with libtorch, so every program that links chimera_model
# gets the object files themselves: a linker would leave them in a library.
#
# nvcc compiles the .cu files, which include nothing of torch.
if(NOT Libtorch_torch_cuda_LIBRARY)
  message(FATAL_ERROR "CHIMERA_WITH_CUDA needs a CUDA build of torch, and "
    "${Libtorch_INCLUDE_DIR} is of another one: see docs/gpu.md")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)  # A100, H100
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

set(_cuda ${PROJECT_SOURCE_DIR}/src/chimera/model/cuda)
add_library(chimera_nvcc OBJECT ${_cuda}/dropout_mask.cu)
target_include_directories(chimera_nvcc PRIVATE ${PROJECT_SOURCE_DIR}/src)
set_target_properties(chimera_nvcc PROPERTIES POSITION_INDEPENDENT_CODE ON
  CUDA_STANDARD 17)  # CMake 3.25 knows no later one of nvcc 13
add_library(chimera_cuda OBJECT ${_cuda}/register.cc)
target_link_libraries(chimera_cuda PRIVATE chimera_flags chimera_torch_flags
  Libtorch::Libtorch)
target_include_directories(chimera_cuda SYSTEM PRIVATE
  ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(chimera_model INTERFACE
  $<BUILD_INTERFACE:$<TARGET_OBJECTS:chimera_cuda>>
  $<BUILD_INTERFACE:$<TARGET_OBJECTS:chimera_nvcc>>
  $<BUILD_INTERFACE:CUDA::cudart>)
