# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Completion of commands, options and values in shells.

A shell's script hands over the line up to the cursor in the variable `LINE`; `answer` prints words that fit, one a
line, each with a tab and what it means. No word at all stands for files, which shells find themselves. What is offered
for a value is the option's own: its choices, or the function given as `autocompletion`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from ringforge.errors import ParameterError
from ringforge.files import writing

#: The variable that makes `ringforge` complete a line in place of running it.
LINE = "_RINGFORGE_COMPLETE_LINE"

_BASH = r"""# Completion of ringforge for bash 4.4 or newer.
_ringforge() {
    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^=:]/} word
    mapfile -t COMPREPLY < <(LINE_VARIABLE=$line "${1/#\~/$HOME}" 2>/dev/null | cut -f1)
    # To readline a word begins behind the last = or :, to ringforge behind the last blank.
    word=${line##*[[:space:]]}
    if [[ -n $breaks && $word == *[$breaks]* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[$breaks]}"}"}")
    fi
}
complete -o bashdefault -o default -F _ringforge ringforge
"""

_ZSH = r"""#compdef ringforge
# Completion of ringforge for zsh.
_ringforge() {
    local -a found
    local line
    for line in "${(@f)$(LINE_VARIABLE="${(j: :)words[1,CURRENT-1]} $PREFIX" ${(Q)words[1]} 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( $#found )); then
        _describe ringforge found
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _ringforge ]]; then
    _ringforge "$@"
else
    compdef _ringforge ringforge
fi
"""

_FISH = r"""# Completion of ringforge for fish.
function __ringforge_words
    set -l line (commandline -cp | string collect)
    set -l found (env LINE_VARIABLE="$line" (commandline -opc)[1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command ringforge --no-files --arguments '(__ringforge_words)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


# ---- scripts -------------------------------------------------------------------------------------


def shells() -> list[str]:
    """Shells that there is a script for."""
    return list(_SCRIPTS)


def script(shell: str) -> str:
    """The script that completes `ringforge` in a shell.

    Raises:
        ParameterError: there is none for it.
    """
    if shell not in _SCRIPTS:
        raise ParameterError(f'there is no completion for "{shell[:40]}": the shells are {", ".join(_SCRIPTS)}')
    return _SCRIPTS[shell].replace("LINE_VARIABLE", LINE)


def install(shell: str) -> tuple[Path, str]:
    """Writes the script where the shell looks for those of its user.

    Returns:
        The file, and what is to be done where the shell does not look there.

    Raises:
        ParameterError: there is no script for the shell. OSError: it cannot be written.
    """
    text = script(shell)
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path, then = {
        "bash": (
            data / "bash-completion/completions/ringforge",
            "without the package bash-completion, add to ~/.bashrc: source {path}",
        ),
        "zsh": (
            data / "zsh/site-functions/_ringforge",
            "unless it is there, add to ~/.zshrc: fpath+=({folder}); autoload -Uz compinit; compinit",
        ),
        "fish": (config / "fish/completions/ringforge.fish", ""),
    }[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path, replace=True) as f:
        f.write(text.encode())
    return path, then.format(path=shlex.quote(str(path)), folder=shlex.quote(str(path.parent)))


# ---- answers -------------------------------------------------------------------------------------


def answer(command: Any, line: str) -> Iterator[str]:
    """What a shell is told for a line.

    Args:
        command: the command that the line's first word stands for, as `typer.main.get_command` makes it.
        line: up to the cursor.
    """
    for value, meaning in candidates(command, line):
        if value.isprintable() and not any(c.isspace() for c in value):
            yield f"{value}\t{' '.join(meaning.replace('`', '').split())}"


def candidates(command: Any, line: str) -> list[tuple[str, str]]:
    """Words that may stand where the line ends, each with what it means; none: a file may, or anything.

    Args:
        command, line: as of `answer`.
    """
    *before, word = _split(line)
    context = typer.Context(command, info_name="ringforge")
    arguments = _arguments(command, context)
    given: set[str] = set()
    option, wanted, plain = None, 0, False
    for w in before[1:]:
        if wanted:
            wanted -= 1
        elif w == "--" and not plain:
            plain = True
        elif w.startswith("-") and len(w) > 1 and not plain:
            name, equals, _ = w.partition("=")
            option = _option(command, context, name)
            if option is not None:
                given.add(option.name)
                wanted = 0 if equals or _is_flag(option) else option.nargs
        elif _is_group(command):
            found = command.get_command(context, w)
            if found is None:
                return []
            command, context = found, typer.Context(found, info_name=w, parent=context)
            arguments, given = _arguments(command, context), set()
        elif arguments and arguments[0].nargs != -1:
            del arguments[0]
    if wanted:
        return _values(option, context, word)
    name, equals, value = word.partition("=")
    if word.startswith("-") and not plain:
        if not equals:
            return _options(command, context, word, given)
        option = _option(command, context, name)
        found_values = [] if option is None or _is_flag(option) else _values(option, context, value)
        return [(f"{name}={v}", meaning) for v, meaning in found_values]
    if _is_group(command):
        return _commands(command, context, word)
    return _values(arguments[0], context, word) if arguments else []


def _split(line: str) -> list[str]:
    """The words of a line; the last is the one that the cursor is at, and may be empty."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quotation that has not ended
        words.append(lexer.token)
        return words
    return words if words and not line[-1].isspace() else [*words, ""]


def _is_group(command: Any) -> bool:
    return hasattr(command, "list_commands")


def _is_flag(option: Any) -> bool:
    return bool(getattr(option, "is_flag", False) or getattr(option, "count", False))


def _arguments(command: Any, context: Any) -> list[Any]:
    return [p for p in command.get_params(context) if p.param_type_name == "argument"]


def _all_options(command: Any, context: Any) -> list[Any]:
    return [p for p in command.get_params(context) if p.param_type_name == "option" and not getattr(p, "hidden", False)]


def _option(command: Any, context: Any, name: str) -> Any:
    """The option of this name, or None."""
    return next((o for o in _all_options(command, context) if name in (*o.opts, *o.secondary_opts)), None)


def _options(command: Any, context: Any, start: str, given: set[str]) -> list[tuple[str, str]]:
    """Names of options that may still be given."""
    return [
        (name, o.help or "")
        for o in _all_options(command, context)
        if o.name not in given or o.multiple
        for name in (*o.opts, *o.secondary_opts)
        if name.startswith(start)
    ]


def _commands(group: Any, context: Any, start: str) -> list[tuple[str, str]]:
    """Names of commands. Groups that import commands when they are asked for say `names_only`."""
    names = [n for n in group.list_commands(context) if n.startswith(start)]
    if getattr(group, "names_only", False):
        return [(name, "") for name in names]
    found = ((name, group.get_command(context, name)) for name in names)
    return [(name, c.get_short_help_str(80)) for name, c in found if c is not None and not c.hidden]


def _values(parameter: Any, context: Any, start: str) -> list[tuple[str, str]]:
    with contextlib.suppress(Exception):  # a completion that fails offers nothing
        return [(str(item.value), item.help or "") for item in parameter.shell_complete(context, start)]
    return []


# ---- what options offer --------------------------------------------------------------------------


def names_of(*places: str, more: Sequence[str] = ()) -> Callable[[], list[str]]:
    """For `autocompletion`: what functions return, whose modules are imported when somebody asks.

    Args:
        places: functions without arguments that return names, as MODULE:FUNCTION. more: words beside those.
    """

    def names() -> list[str]:
        found = list(more)
        for place in places:
            module, _, function = place.partition(":")
            found += getattr(importlib.import_module(module), function)()
        return found

    return names


#: Devices that `open_device` takes; clusters by their addresses.
devices = names_of("ringforge.devices:names", more=("ray:local", "ray:auto"))

#: Parameter sets of CKKS, with the word that has one chosen; of BFV; of all schemes that `ringforge params` lists.
ckks_sets = names_of("ringforge.params:names")
ckks_sets_or_auto = names_of("ringforge.params:names", more=("auto",))
bfv_sets = names_of("ringforge.params:names_bfv")
all_sets = names_of("ringforge.params:names", "ringforge.params:names_bfv", "ringforge.params:names_bgv")
