"""The wheel is for one platform, as a library is in it, and for every Python, as cffi loads that."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


class ForEveryPython(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(distclass=WithLibrary, cmdclass={"bdist_wheel": ForEveryPython})
