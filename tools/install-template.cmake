# Run by an install: fills in a template with where things are installed to, and puts it there.
#
# Given: fr_template (NAME.in), fr_destination, fr_version, fr_work (a folder), fr_dirs (pairs of a name and a folder, absolute
# or below the prefix) and CMAKE_INSTALL_PREFIX, in which DESTDIR does not count. For each pair the template
# finds @fr_full_NAME@, and for pkg-config @fr_pc_NAME@, which begins with ${prefix}.
get_filename_component(fr_prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE BASE_DIR "$ENV{PWD}")
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
get_filename_component(fr_file "${fr_template}" NAME_WLE)
if(NOT IS_ABSOLUTE "${fr_destination}")
    set(fr_destination "${fr_prefix}/${fr_destination}")
endif()
string(RANDOM LENGTH 12 fr_part) # two installs may run at once
set(fr_work "${fr_work}/install-${fr_part}")
configure_file("${fr_template}" "${fr_work}/${fr_file}" @ONLY NO_SOURCE_PERMISSIONS)
file(INSTALL "${fr_work}/${fr_file}" DESTINATION "${fr_destination}")
file(REMOVE_RECURSE "${fr_work}")
