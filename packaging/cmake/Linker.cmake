# SPDX-License-Identifier: Apache-2.0
# mold where it is installed (packaging/setup.sh installs it): fifty programs link in seconds in place of minutes.
# Not with link-time optimisation, which is the compiler's own work.
if(NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  find_program(SHARDSCOPE_MOLD mold)
  mark_as_advanced(SHARDSCOPE_MOLD)
  if(SHARDSCOPE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
add_feature_info(mold SHARDSCOPE_MOLD "the mold linker")
