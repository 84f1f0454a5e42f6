#!/bin/sh
# tools/check-links.sh on pages of which it is known what is wrong with them.
check=$FR_SOURCE_DIR/tools/check-links.sh
[ -e "$check" ] || { echo "SKIP the tools are not here"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/docs/papers" "$dir/build" "$dir/.git" "$dir/src" "$dir/lab" "$dir/include" "$dir/tests" "$dir/bench"
echo "int fr_known(void);" >"$dir/src/a.h"
echo 'In code: `fr_known`, `plain`' >"$dir/docs/papers/p.md"
cat >"$dir/README.md" <<'END'
# A page: of `words`, and [more](docs/a.md)
[there](docs/a.md) and [a place](docs/a.md#two-words), ![picture](docs/p.svg), [the web](https://example.org/x.md),
[here](#a-page-of-words-and-more), [up](/docs/a.md); `[code](nowhere.md)`
```
[code](nowhere.md)
```
    [code](nowhere.md)
END
printf '# A\n## Two words\n[back](../README.md)\n' >"$dir/docs/a.md"
echo "[built](nowhere.md)" >"$dir/build/x.md"
echo "[hidden](nowhere.md)" >"$dir/.git/x.md"
: >"$dir/docs/p.svg"
said=$(sh "$check" "$dir") && [ -z "$said" ] || { echo "sound pages: $said"; exit 1; }
cat >>"$dir/docs/a.md" <<'END'
[one](b.md) [two](#three)
<img src="q.svg"> [three](../README.md#nowhere)
END
said=$(sh "$check" "$dir") && { echo "wrong links were not found"; exit 1; }
expected='docs/a.md:4: b.md: there is no such file
docs/a.md:4: #three: there is no such heading
docs/a.md:5: ../README.md#nowhere: there is no such heading
docs/a.md:5: q.svg: there is no such file'
[ "$said" = "$expected" ] || { echo "said: $said"; exit 1; }
rm "$dir/docs/a.md" "$dir/README.md"
echo '`fr_gone`' >"$dir/docs/papers/p.md"
said=$(sh "$check" "$dir") && { echo "a wrong name was not found"; exit 1; }
[ "$said" = './docs/papers/p.md:1: `fr_gone`: there is no such name' ] || { echo "said: $said"; exit 1; }
