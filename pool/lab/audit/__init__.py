"""`pool audit`: did a run earn its success? What an evaluation calls after each task is imported from here."""

from __future__ import annotations

from pool.agent.audit.audit import Audit as Audit
from pool.agent.audit.audit import audit_log as audit_log
from pool.agent.audit.audit import audit_trajectory as audit_trajectory
from pool.agent.audit.facts import AuditProblem as AuditProblem
from pool.agent.audit.facts import TaskFacts as TaskFacts
from pool.agent.audit.finding import Finding as Finding
from pool.agent.audit.finding import Severity as Severity
from pool.agent.audit.rerun import verified as verified
from pool.agent.audit.verdict import Verdict as Verdict
