# Included: chimera_embed() builds files into a module as string constants.
# Run as a script (cmake -P), this file writes them.

# chimera_embed(MODULE HEADER NAME=FILE...): defines, for each NAME, the constant
# `const std::string_view kNAME` that HEADER declares: FILE's text, or the texts
# of all its FILEs in the order given.
function(chimera_embed module header)
  set(output ${module}_embedded.cc)
  set(files ${ARGN})
  list(TRANSFORM files REPLACE "^[^=]*=" "")
  string(REPLACE ";" "|" constants "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DOUTPUT=${output}
            "-DCONSTANTS=${constants}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    VERBATIM)
  target_sources(chimera_${module} PRIVATE ${output})
endfunction()

# Bytes are written as numbers, so that nothing in a file can end a literal.
function(write_constant name hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x[0-9a-f][0-9a-f],){16}" "\\0\n" bytes "${bytes}")
  file(APPEND ${OUTPUT} "
namespace { const unsigned char k${name}Bytes[] = {\n${bytes}0}; }
const std::string_view k${name}(reinterpret_cast<const char*>(k${name}Bytes),
                                sizeof k${name}Bytes - 1);\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  string(REPLACE "|" ";" constants "${CONSTANTS}")
  foreach(constant ${constants})
    string(REGEX MATCH "^([^=]*)=(.*)$" ignored "${constant}")
    set(name ${CMAKE_MATCH_1})
    file(READ ${CMAKE_MATCH_2} hex HEX)
    list(APPEND names ${name})
    string(APPEND hex_${name} "${hex}")
  endforeach()
  list(REMOVE_DUPLICATES names)
  file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace chimera {\n")
  foreach(name ${names})
    write_constant(${name} "${hex_${name}}")
  endforeach()
  file(APPEND ${OUTPUT} "\n}  // namespace chimera\n")
endif()
