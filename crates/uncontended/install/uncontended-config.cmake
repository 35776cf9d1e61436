# find_package(uncontended) defines the target uncontended::uncontended. Found relative to this file, so that the
# installed tree can be moved.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_uncontended_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET uncontended::uncontended)
  add_library(uncontended::uncontended STATIC IMPORTED)
  set_target_properties(uncontended::uncontended PROPERTIES
    IMPORTED_LOCATION "${_uncontended_prefix}/lib/libuncontended.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_uncontended_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;gcc_s;m;${CMAKE_DL_LIBS}")
endif()
unset(_uncontended_prefix)
