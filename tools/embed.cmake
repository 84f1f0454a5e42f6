# Makes a C file of files: for each its bytes and an entity tag from their hash.
#     cmake -DOUT=FILE.c -DFILES=A;B -P tools/embed.cmake
set(arrays "")
set(table "")
set(i 0)
foreach(file IN LISTS FILES)
    file(READ ${file} hex HEX)
    file(SHA256 ${file} hash)
    string(SUBSTRING ${hash} 0 16 hash)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(................................................................................)"
           "\\1\n" bytes "${bytes}")
    get_filename_component(name ${file} NAME)
    string(APPEND arrays "static const unsigned char file_${i}[] = { // ${name}\n${bytes}};\n")
    string(APPEND table "    {\"${name}\", \"\\\"${hash}\\\"\", file_${i}, sizeof file_${i}},\n")
    math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT} "// Made by tools/embed.cmake.\n#include \"serve/page/page.h\"\n\n${arrays}\n"
     "const fr_page_file fr_page_files[] = {\n${table}    {.name = 0}};\n")
