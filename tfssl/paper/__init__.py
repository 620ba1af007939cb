"""Many runs: resumable jobs, studies on the same splits, the paper's tables and figures.

Imports training, results and all that lies before them.
"""
