"""Say how a task went, from the JSON that `pool run` prints. Arguments are those of `pool run`."""

import json
import subprocess
import sys

done = subprocess.run([sys.executable, "-m", "pool", "run", "-o", "json", *sys.argv[1:]], stdout=subprocess.PIPE)
result = json.loads(done.stdout)
print(f"{result['reason']}: {result['turns']} turns, {result['usage']['completion']} tokens written")
for change in result["changes"]:
    print(f"{change['kind']} {change['path']} +{change['added']} -{change['removed']}")
for test in result["tests"]["runs"]:
    print(f"{'passed' if test['passed'] else 'failed'}: {test['command']}")
sys.exit(done.returncode)
