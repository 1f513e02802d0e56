# Run as a script: cmake -DFOLDER=.../assets -DOUTPUT=assets.cc -P this file.
#
# Writes page.html, page.css and all *.js of FOLDER, in order of name, as the
# string constants that page/assets.h declares. Bytes are written as numbers, so
# that nothing in the files can end a literal.

function(write_constant name)
  set(all "")
  foreach(path ${ARGN})
    file(READ ${path} hex HEX)
    string(APPEND all "${hex}")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${all}")
  string(REGEX REPLACE "(0x[0-9a-f][0-9a-f],){16}" "\\0\n" bytes "${bytes}")
  file(APPEND ${OUTPUT} "
namespace { const unsigned char k${name}Bytes[] = {\n${bytes}0}; }
const std::string_view k${name}(reinterpret_cast<const char*>(k${name}Bytes),
                                sizeof k${name}Bytes - 1);\n")
endfunction()

file(GLOB scripts ${FOLDER}/*.js)
list(SORT scripts)
file(WRITE ${OUTPUT}
  "#include \"chimera/page/assets.h\"\n\nnamespace chimera {\n")
write_constant(PageFrame ${FOLDER}/page.html)
write_constant(PageStyle ${FOLDER}/page.css)
write_constant(PageScript ${scripts})
file(APPEND ${OUTPUT} "\n}  // namespace chimera\n")
