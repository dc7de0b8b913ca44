# SPDX-License-Identifier: Apache-2.0
# `cpack -G DEB`: the packages shardscope (no Qt), shardscope-gui, and one for each MPI library that is installed here.
# packaging/dist.sh deb calls it.
set(CPACK_PACKAGE_NAME shardscope)
set(CPACK_PACKAGE_CONTACT "The Shardscope authors <shardscope@shardscope.org>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_COMPONENTS_ALL cli)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLI_PACKAGE_NAME shardscope)
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "libcurl4, ca-certificates") # loaded for s3:// paths alone
set(CPACK_DEBIAN_GUI_PACKAGE_NAME shardscope-gui)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package begins with its own
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENT_CLI_DESCRIPTION "inspect, verify, reshard and repair DeepSpeed checkpoints
Shardscope opens every form of DeepSpeed checkpoint, shows where each element
of each parameter and optimizer state is stored, compares training states,
rewrites a checkpoint for another number of GPUs, exports weights, finds
damage and repairs it. It needs neither Python nor a GPU.")
set(CPACK_COMPONENT_GUI_DESCRIPTION "window for DeepSpeed checkpoints
The window of Shardscope: a map of ranks, parameters and padding, tables of
parameters and files, comparison, resharding with a plan before and a
verification after it.")
set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "libqt6svg6, shardscope (= ${PROJECT_VERSION})")
if(TARGET shardscope-gui)
  list(APPEND CPACK_COMPONENTS_ALL gui)
endif()
foreach(library IN ITEMS "openmpi:Open MPI" mpich:MPICH)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 title)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME shardscope-${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "shardscope (= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "DeepSpeed checkpoints by many machines with ${title}
The module that `shardscope --mpi` loads in jobs that ${title} starts: its
processes write, compare and verify one checkpoint together.")
  if(TARGET shardscope_${name})
    list(APPEND CPACK_COMPONENTS_ALL ${name})
  endif()
endforeach()

# What Debian expects of every package: a copyright file, and the changelog in its own form.
find_program(SHARDSCOPE_PACKAGE_PYTHON python3)
mark_as_advanced(SHARDSCOPE_PACKAGE_PYTHON)
if(SHARDSCOPE_PACKAGE_PYTHON)
  set(CPACK_PROJECT_CONFIG_FILE "")
  set(debian_files ${PROJECT_SOURCE_DIR}/packaging/dist/debian_files.py)
  foreach(entry IN ITEMS cli:shardscope gui:shardscope-gui openmpi:shardscope-openmpi mpich:shardscope-mpich)
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 component)
    list(GET entry 1 package)
    install(CODE "
      execute_process(COMMAND ${SHARDSCOPE_PACKAGE_PYTHON} ${debian_files} ${package} ${PROJECT_SOURCE_DIR}
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\" COMMAND_ERROR_IS_FATAL ANY)"
      COMPONENT ${component})
  endforeach()
endif()
include(CPack)
