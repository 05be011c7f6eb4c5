"""Publishing an evaluation: a folder of files for any web server, with every run's trajectory."""

from pool.lab.eval.publish.publication import Publication, PublishedRun
from pool.lab.eval.publish.site import PublishProblem, publish

__all__ = ["Publication", "PublishProblem", "PublishedRun", "publish"]
