"""Several designs in one system: reference, prediction, Verilog and co-simulation."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from stepgen.cosim.experiment import Experiment
from stepgen.cosim.verdict import Verdict
from stepgen.emit.design_writer import Written, write
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.ir.system import SystemGraph
from stepgen.ir.where import user_line
from stepgen.program.program import Program
from stepgen.semantics import system
from stepgen.semantics.executor import Result
from stepgen.timing.model import Prediction

_OWN = ("graph", "inputs", "lanes", "built")
"""What options can't be: a system has lanes and a design of its own."""


class System(SystemGraph):
    """Programs that run side by side, each on a design of its own, with streams between them.

    It is a program whose `SystemGraph` says what its parts are: a function may return it for the
    command line. Its designs start in one cycle and have one memory port, one set of registers and
    one end.

    Parameters
    ----------
    parts : mapping of str to Graph
        Complete programs, by name; one program may be several parts.
    connect : mapping of str to str
        By output of a part, the input of another that it feeds: ``{"first_y": "second_x"}``.
    name : str
        Of the system, an identifier.
    lanes : int or mapping of str to int
        Lanes of a beat: of all parts or by part.

    Raises
    ------
    StepError
        As of `SystemGraph`.
    """

    def experiment(self, inputs: Mapping[str, Any], **options: Any) -> Experiment:
        """The system with inputs.

        Parameters
        ----------
        inputs : mapping
            Contents of its open inputs and tensors, by name.
        **options
            Others of `stepgen.cosim.experiment.Experiment`, such as ``depths`` and ``stalls``.

        Returns
        -------
        Experiment

        Raises
        ------
        StepError
            If there is no such option, or it has a value that does not fit.
        """
        known = [field.name for field in fields(Experiment) if field.name not in _OWN]
        for option in options:
            if option not in known:
                raise StepError(
                    f"system at {user_line(self)}: there is no option {option!r}, those are "
                    f"{', '.join(known)}"
                )
        return Experiment(self, inputs, **options)

    def design(self, **options: Any) -> Design:
        """The design table of the system.

        Parameters
        ----------
        **options
            As for `experiment`.

        Returns
        -------
        Design

        Raises
        ------
        StepError
            If there is none.
        """
        return self.experiment({}, **options).design

    def run(self, inputs: Mapping[str, Any]) -> Result:
        """Run the reference, without time.

        Parameters
        ----------
        inputs : mapping
            As for `experiment`.

        Returns
        -------
        Result
            All streams and tensors: ``run(inputs).nested("second_y")``.

        Raises
        ------
        StepError
            If inputs are missing or do not fit, or a part can't finish.
        """
        return system.run(self, inputs)

    def time(self, inputs: Mapping[str, Any], **options: Any) -> Prediction:
        """Predict the cycle of every beat.

        Parameters
        ----------
        inputs : mapping
            As for `experiment`.
        **options
            As for `experiment`.

        Returns
        -------
        Prediction

        Raises
        ------
        Deadlock
            If the run can never end.
        StepError
            As of `experiment` and `run`.
        """
        return self.experiment(inputs, **options).prediction

    def verilog(
        self, folder: str | Path, inputs: Mapping[str, Any] | None = None, **options: Any
    ) -> Written:
        """Write the design folder: one top module, registers, map.

        Parameters
        ----------
        folder : str or Path
            Made where it is missing. It is a program for the command line.
        inputs : mapping, optional
            What goes into the folder with the programs.
        **options
            As for `experiment`.

        Returns
        -------
        Written
            Names of the files by what they are.

        Raises
        ------
        StepError
            If there is no design, or the folder can't be written.
        """
        given = dict(inputs or {})
        program = Program(self, given, self.name, frozenset(given))
        return write(Path(folder), program, self.design(**options))

    def test(
        self, inputs: Mapping[str, Any], folder: str | Path | None = None, **options: Any
    ) -> Verdict:
        """Simulate the Verilog; compare values, the cycle of every beat, memory and counters.

        Parameters
        ----------
        inputs : mapping
            As for `experiment`.
        folder : str or Path, optional
            Run folder to keep.
        **options
            As for `experiment`.

        Returns
        -------
        Verdict
            ``good``, or what differs in ``outcome.faults``.

        Raises
        ------
        StepError
            As of `time`, and where a tool is missing or fails.
        """
        experiment = self.experiment(inputs, **options)
        if folder is not None:
            return experiment.test(Path(folder))
        with tempfile.TemporaryDirectory() as place:
            return experiment.test(Path(place) / "run")
