# SPDX-License-Identifier: Apache-2.0
# Checks of what is installed. A check whose tool is absent is left out, see shardscope_leave_out().
set(packaging_tests ${PROJECT_SOURCE_DIR}/tests/packaging)

# shardscope_tool_test(NAME TOOL argument...)
function(shardscope_tool_test name tool)
  find_program(SHARDSCOPE_TOOL_${tool} ${tool})
  mark_as_advanced(SHARDSCOPE_TOOL_${tool})
  if(SHARDSCOPE_TOOL_${tool})
    add_test(NAME packaging.${name} COMMAND ${SHARDSCOPE_TOOL_${tool}} ${ARGN})
  else()
    shardscope_leave_out(packaging.${name} "${tool} is not installed")
  endif()
endfunction()

shardscope_tool_test(desktop desktop-file-validate ${PROJECT_SOURCE_DIR}/packaging/linux/${SHARDSCOPE_ID}.desktop)
shardscope_tool_test(metainfo appstreamcli validate --no-net ${PROJECT_SOURCE_DIR}/packaging/linux/${SHARDSCOPE_ID}.metainfo.xml)
shardscope_tool_test(mime xmllint --noout ${PROJECT_SOURCE_DIR}/packaging/linux/${SHARDSCOPE_ID}.xml
                     ${PROJECT_SOURCE_DIR}/packaging/linux/${SHARDSCOPE_ID}.metainfo.xml)
shardscope_tool_test(scripts sh ${packaging_tests}/check_scripts.sh ${PROJECT_SOURCE_DIR})
find_program(SHARDSCOPE_GROFF groff)
mark_as_advanced(SHARDSCOPE_GROFF)
if(SHARDSCOPE_GROFF)
  add_test(NAME packaging.man COMMAND sh ${packaging_tests}/check_man.sh ${SHARDSCOPE_GROFF}
                                      ${PROJECT_SOURCE_DIR}/packaging/man/shardscope-gui.1 ${texts}/shardscope.1)
else()
  shardscope_leave_out(packaging.man "groff is not installed")
endif()
find_program(SHARDSCOPE_PYTHON python3)
mark_as_advanced(SHARDSCOPE_PYTHON)
if(SHARDSCOPE_PYTHON)
  add_test(NAME packaging.manual
           COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/check_manual.py ${PROJECT_SOURCE_DIR})
else()
  shardscope_leave_out("packaging.manual, examples, python and wheel" "python3 is not installed")
endif()
if(TARGET shardscope)
  find_program(SHARDSCOPE_BASH bash)
  mark_as_advanced(SHARDSCOPE_BASH)
  if(SHARDSCOPE_BASH)
    add_test(NAME packaging.completion
             COMMAND ${SHARDSCOPE_BASH} ${packaging_tests}/check_completion.sh $<TARGET_FILE:shardscope>)
  else()
    shardscope_leave_out(packaging.completion "bash is not installed")
  endif()
  if(SHARDSCOPE_PYTHON)
    add_test(NAME packaging.examples COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/check_examples.py
                                             $<TARGET_FILE:shardscope> ${PROJECT_SOURCE_DIR})
    add_test(NAME packaging.facts COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/check_facts.py
                                          $<TARGET_FILE:shardscope> ${PROJECT_SOURCE_DIR})
    # The Python package with the classes of its answers, as the wheel has it.
    file(GLOB_RECURSE package CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/python/shardscope/*.py)
    set(generator ${PROJECT_SOURCE_DIR}/packaging/python/generate_answers.py)
    add_custom_command(OUTPUT ${texts}/python/shardscope/answers/__init__.py
      COMMAND ${SHARDSCOPE_PYTHON} ${generator} ${texts}/schemas ${texts}/python
      DEPENDS ${texts}/schemas/inspect.json ${generator} ${package}
      VERBATIM COMMENT "Writing the Python package")
    add_custom_target(shardscope_python ALL DEPENDS ${texts}/python/shardscope/answers/__init__.py)
    add_dependencies(shardscope_python shardscope_printed)
    add_test(NAME packaging.python COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/python/test_package.py
                                           $<TARGET_FILE:shardscope> ${PROJECT_SOURCE_DIR} ${texts}/python)
    shardscope_tool_test(types mypy --strict --ignore-missing-imports --no-warn-unused-ignores --python-version 3.9
                         --cache-dir ${PROJECT_BINARY_DIR}/mypy ${texts}/python/shardscope
                         ${PROJECT_SOURCE_DIR}/resources/examples)
    # Without optimisation, or with sanitizers, the program is so large that packing it takes minutes.
    execute_process(COMMAND ${SHARDSCOPE_PYTHON} -c "import ensurepip, venv"
                    RESULT_VARIABLE no_venv OUTPUT_QUIET ERROR_QUIET)
    if(NOT no_venv EQUAL 0)
      shardscope_leave_out(packaging.wheel "${SHARDSCOPE_PYTHON} has no venv")
    elseif(CMAKE_BUILD_TYPE MATCHES "^Rel")
      add_test(NAME packaging.wheel COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/python/test_wheel.py
                                            ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    endif()
  endif()
  if(SHARDSCOPE_PYTHON AND TARGET shardscope-static)
    foreach(part IN ITEMS static:Static old-kernel:OldKernel)
      string(REPLACE ":" ";" part ${part})
      list(GET part 0 name)
      list(GET part 1 class)
      add_test(NAME packaging.${name}
               COMMAND ${SHARDSCOPE_PYTHON} ${packaging_tests}/test_static.py $<TARGET_FILE:shardscope-static>
                       $<TARGET_FILE:shardscope> ${PROJECT_SOURCE_DIR} ${class})
    endforeach()
    set_tests_properties(packaging.old-kernel PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  add_test(NAME packaging.install
           COMMAND sh ${packaging_tests}/check_install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                   $<IF:$<TARGET_EXISTS:shardscope-gui>,window,no-window> $<IF:$<TARGET_EXISTS:shardscope-static>,static,no-static>)
endif()
