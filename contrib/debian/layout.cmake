# Where Debian has things that other systems have elsewhere.
set(fr_zsh_dir ${fr_data}/zsh/vendor-completions)
set(fr_examples_dir ${fr_data}/doc/libforerun-dev/examples)
set(fr_unit_dir /lib/systemd/system)
