# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, for every form that users install: packages, tarball and wheels. Manual page,
# completions and JSON schemas are printed by the built program, so they cannot go stale.
set(SHARDSCOPE_ID org.shardscope.Shardscope)

# Components are the Debian packages: `cli` without Qt, `gui` with it. The rest is for installations from source.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cli)
if(TARGET shardscope)
  set(program shardscope)
  if(SHARDSCOPE_ARCHIVES AND TARGET shardscope-static)
    set(program shardscope-static)
  endif()
  if(program STREQUAL shardscope)
    install(TARGETS shardscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(TARGET shardscope-static) # what is copied to hosts that lack the program: core/far finds it there
      install(TARGETS shardscope-static RUNTIME DESTINATION lib/shardscope)
    endif()
  else()
    install(PROGRAMS $<TARGET_FILE:${program}> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME shardscope)
  endif()

  set(texts ${PROJECT_BINARY_DIR}/printed)
  set(printed ${texts}/shardscope.1)
  add_custom_command(OUTPUT ${printed}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${texts}
    COMMAND ${program} help man > ${printed}
    DEPENDS ${program} VERBATIM COMMENT "Writing the manual page")
  foreach(entry IN ITEMS bash:shardscope zsh:_shardscope fish:shardscope.fish)
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 shell)
    list(GET entry 1 name)
    add_custom_command(OUTPUT ${texts}/${name}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${texts}
      COMMAND ${program} completion ${shell} > ${texts}/${name}
      DEPENDS ${program} VERBATIM COMMENT "Writing the completion for ${shell}")
    list(APPEND printed ${texts}/${name})
  endforeach()
  add_custom_command(OUTPUT ${texts}/schemas/inspect.json
    COMMAND ${program} __schemas ${texts}/schemas
    DEPENDS ${program} VERBATIM COMMENT "Writing the JSON schemas")
  list(APPEND printed ${texts}/schemas/inspect.json)
  add_custom_target(shardscope_printed ALL DEPENDS ${printed})
  install(FILES ${texts}/shardscope.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${texts}/shardscope DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${texts}/_shardscope DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${texts}/shardscope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md rooms.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY resources/manual resources/images resources/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/resources
          PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${texts}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/shardscope)
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME gui)
if(TARGET shardscope-gui)
  install(TARGETS shardscope-gui RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES packaging/man/shardscope-gui.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES packaging/linux/${SHARDSCOPE_ID}.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES packaging/linux/${SHARDSCOPE_ID}.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
  install(FILES packaging/linux/${SHARDSCOPE_ID}.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages)
  install(FILES resources/icons/${SHARDSCOPE_ID}.svg
          DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
endif()

include(packaging/cmake/DebianPackages.cmake)

if(SHARDSCOPE_BUILD_TESTS)
  include(packaging/cmake/PackagingTests.cmake)
endif()
