# Debian's packages, made by cpack out of the four components: `make deb`.
#
# forerun is the program, libforerun0 (the number is the soname's) the shared library, libforerun-dev what
# programs are built with, forerun-packs the trained drafters.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(fr_library libforerun${PROJECT_VERSION_MAJOR})
set(fr_release 1)
set(fr_made ${CMAKE_CURRENT_BINARY_DIR}/debian)

file(STRINGS ${here}/changelog fr_newest LIMIT_COUNT 1)
if(NOT fr_newest MATCHES "^forerun \\(${PROJECT_VERSION}-${fr_release}\\) ")
    message(FATAL_ERROR "contrib/debian/changelog: the newest entry must be of ${PROJECT_VERSION}-${fr_release}")
endif()
file(STRINGS ${here}/changelog fr_maintainers REGEX "^ -- ")
list(GET fr_maintainers 0 fr_maintainer)
string(REGEX REPLACE "^ -- (.*>) .*" "\\1" fr_maintainer "${fr_maintainer}")

# --- what every package has below its own name in share/doc, and what forerun has besides ----------
file(MAKE_DIRECTORY ${fr_made})
configure_file(${here}/changelog ${fr_made}/changelog.Debian COPYONLY)
configure_file(CHANGELOG.md ${fr_made}/changelog COPYONLY)
execute_process(COMMAND gzip -9nf changelog.Debian changelog WORKING_DIRECTORY ${fr_made}
                COMMAND_ERROR_IS_FATAL ANY)
function(fr_package component name) # further arguments: lines of lintian's overrides
    set(doc ${fr_data}/doc/${name})
    install(FILES ${here}/copyright ${fr_made}/changelog.Debian.gz ${fr_made}/changelog.gz
            DESTINATION ${doc} COMPONENT ${component})
    file(READ ${here}/lintian-overrides overrides)
    list(JOIN ARGN "\n" own)
    file(WRITE ${fr_made}/${name} "${overrides}${own}\n")
    install(FILES ${fr_made}/${name} COMPONENT ${component} DESTINATION ${fr_data}/lintian/overrides)
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
endfunction()
fr_package(program forerun)
fr_package(library ${fr_library} "# cpack adds these scripts for shared libraries, beside the trigger."
           "maintscript-calls-ldconfig *")
fr_package(development libforerun-dev)
fr_package(packs forerun-packs)
install(FILES packs/README.md DESTINATION ${fr_data}/doc/forerun-packs COMPONENT packs)
install(FILES ${here}/forerun/default DESTINATION /etc/default RENAME forerun COMPONENT program)
install(CODE "
    file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
    execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)

# --- cpack ----------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME forerun)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${fr_maintainer}")
set(CPACK_COMPONENTS_ALL program library development packs)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON) # files outside the prefix, and the prefix itself in forerun.pc
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${fr_release})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip) # weights hardly shrink, and xz takes minutes over them

set(fr_what "forerun answers from frozen GGUF language models on the CPU. A drafter
guesses what comes next, one pass of the model checks all guesses, and what
comes out has exactly the bytes of decoding one token at a time.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS forerun-packs)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
    ${here}/forerun/postinst ${here}/forerun/prerm ${here}/forerun/postrm ${here}/forerun/conffiles)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "language models several tokens a pass, byte for byte
${fr_what}
.
This is the program: run, chat, serve (OpenAI's API over HTTP), tune, train
and others, with a systemd unit that serves the model of /etc/default/forerun.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS forerun-packs)
# Programs need the version that they were built with: structs grow within a soname (forerun.h).
file(WRITE ${fr_made}/shlibs
     "libforerun ${PROJECT_VERSION_MAJOR} ${fr_library} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${here}/libforerun/triggers ${fr_made}/shlibs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "language models several tokens a pass - shared library
${fr_what}
.
This is the library for programs that embed it.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${fr_library} (= ${PROJECT_VERSION}-${fr_release}), \
libpcre2-dev, libsqlite3-dev, libjansson-dev, libc6-dev | libc-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "language models several tokens a pass - development files
${fr_what}
.
This has the header, the static library, the file for pkg-config and examples.")

set(CPACK_DEBIAN_PACKS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKS_PACKAGE_ENHANCES "forerun, ${fr_library}")
set(CPACK_COMPONENT_PACKS_DESCRIPTION "trained drafters for forerun
${fr_what}
.
These are drafters trained for SmolLM2-135M-Instruct (Q4_1) and
Qwen2.5-Coder-Instruct 0.5B and 1.5B (Q4_K_M). forerun finds them by
itself. The models are not in here.")
include(CPack)
