# Run by an install: fills in a template with where things are installed to.
#
# Given: fr_template, fr_written (what to write), fr_version, fr_dirs (pairs of a name and a folder,
# absolute or below the prefix) and CMAKE_INSTALL_PREFIX, where DESTDIR does not count. For each pair the
# template finds @fr_full_NAME@, and for pkg-config @fr_pc_NAME@, which begins with ${prefix}.
set(fr_prefix "${CMAKE_INSTALL_PREFIX}")
while(fr_dirs)
    list(POP_FRONT fr_dirs fr_name fr_dir)
    if(IS_ABSOLUTE "${fr_dir}")
        set(fr_full_${fr_name} "${fr_dir}")
        set(fr_pc_${fr_name} "${fr_dir}")
    else()
        set(fr_full_${fr_name} "${fr_prefix}/${fr_dir}")
        set(fr_pc_${fr_name} "\${prefix}/${fr_dir}")
    endif()
endwhile()
configure_file("${fr_template}" "${fr_written}" @ONLY)
