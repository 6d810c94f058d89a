#!/usr/bin/python3
"""Esker and Siconos side by side on contact problems in FCLIB's layout.

    compare/against_siconos.py FOLDER [--seconds 10] [--tolerance 1e-8] [--esker PATH]

For every file: each of Siconos' solvers, in every matrix storage it accepts, and
`esker solve --solver auto`, one after the other on one core. Both are judged by the
natural map divided by the norm of q, computed here. A solver of Siconos that stops by
its own criterion short of the tolerance is asked again for a tighter one.
Needs Debian's packages python3-siconos, python3-h5py and python3-scipy.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import subprocess
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import h5py
import numpy as np
import scipy.sparse as sparse

SOLVERS_3D = ["NSN_AC", "NSN_AC_TEST", "NSGS", "PROX", "ADMM", "NSN_NM"]
SOLVERS_2D = ["NSGS", "CPG", "LEMKE"]
STORAGES = ["blocks", "sparse"]


def matrix(group):
    m, n, nz = (int(group[k][0]) for k in ("m", "n", "nz"))
    p, i, x = (group[k][()] for k in ("p", "i", "x"))
    if nz >= 0:
        return sparse.csc_matrix((x[:nz], (i[:nz], p[:nz])), shape=(m, n))
    kind = sparse.csc_matrix if nz == -1 else sparse.csr_matrix
    return sparse.csc_matrix(kind((x[: p[-1]], i[: p[-1]], p), shape=(m, n)))


def read(path):
    """(rows per contact, W, q, mu); a global problem is reduced to the local one."""
    with h5py.File(path) as file:
        if "fclib_local" in file:
            group = file["fclib_local"]
            vectors = group["vectors"]
            return (
                int(group["spacedim"][0]),
                matrix(group["W"]),
                vectors["q"][()],
                vectors["mu"][()],
            )
        group = file["fclib_global"]
        vectors = group["vectors"]
        mass, h = matrix(group["M"]), matrix(group["H"])
        if (sparse.tril(mass, -1)).nnz == 0:
            mass = mass + sparse.triu(mass, 1).T
        solve = sparse.linalg.factorized(sparse.csc_matrix(mass))
        inverse_h = np.column_stack([solve(c) for c in h.toarray().T])
        w = sparse.csc_matrix(h.T @ inverse_h)
        q = h.T @ solve(vectors["f"][()]) + vectors["w"][()]
        return int(group["spacedim"][0]), w, q, vectors["mu"][()]


def natural_map(dim, w, q, mu, r):
    u = (w @ r + q).reshape(-1, dim)
    r = r.reshape(-1, dim)
    z = r - u
    z[:, 0] -= mu * np.linalg.norm(u[:, 1:], axis=1)
    tail = np.linalg.norm(z[:, 1:], axis=1)
    inside = tail <= mu * z[:, 0]
    polar = ~inside & (mu * tail <= -z[:, 0])
    head = (z[:, 0] + mu * tail) / (1 + mu**2)
    scale = np.divide(mu * head, tail, out=np.zeros_like(tail), where=tail > 0)
    onto = np.column_stack([head, scale[:, None] * z[:, 1:]])
    projected = np.where(inside[:, None], z, np.where(polar[:, None], 0.0, onto))
    return np.linalg.norm(r - projected) / np.linalg.norm(q)


def run_siconos(queue, path, solver, storage, tolerance):
    import siconos.numerics as sn

    sn.numerics_set_verbose(0)
    dim, w, q, mu = read(path)
    w.indptr, w.indices = w.indptr.astype(np.int64), w.indices.astype(np.int64)
    m = w if storage == "sparse" else sn.SBM_from_csparse(dim, w)[1]
    problem = sn.FrictionContactProblem(dim, len(mu), m, q, mu)
    options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_{dim}D_{solver}"))
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 1_000_000
    drive = sn.fc3d_driver if dim == 3 else sn.fc2d_driver
    asked = tolerance
    for _ in range(4):
        options.dparam[sn.SICONOS_DPARAM_TOL] = asked
        r, v = np.zeros(len(q)), np.zeros(len(q))
        start = time.perf_counter()
        drive(problem, r, v, options)
        seconds = time.perf_counter() - start
        error = natural_map(dim, w, q, mu, r)
        queue.put((error, seconds))
        if error <= tolerance or not np.isfinite(error):
            break
        asked *= 0.1


def attempt(path, solver, storage, tolerance, limit):
    """(natural map, seconds) of the first answer at the tolerance, or of the best."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(
        target=run_siconos, args=(queue, path, solver, storage, tolerance)
    )
    process.start()
    # Reading the file and tightening the tolerance take their time as well.
    process.join(limit + 5)
    if process.is_alive():
        process.kill()
        process.join()
    answers = []
    while not queue.empty():
        answers.append(queue.get())
    answers = [a for a in answers if a[1] <= limit]
    solved = [a for a in answers if a[0] <= tolerance]
    return solved[0] if solved else min(answers, default=(np.inf, np.inf))


def esker(program, path, tolerance, limit):
    out = subprocess.run(
        [program, "solve", path, "--solver", "auto", "--json"]
        + ["--tol", str(tolerance), "--time-limit", str(limit)],
        capture_output=True,
        text=True,
        cwd="/tmp",
    )
    answer = json.loads(out.stdout)
    answer = answer[0] if isinstance(answer, list) else answer
    return answer["natural_map"], answer["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--esker", default="target/release/esker")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.esker)
    limit, tolerance = arguments.seconds, arguments.tolerance
    totals = [0.0, 0.0]
    print("| problem | Esker auto: residual | s | Siconos, best: solver | residual | s |")
    print("|---|---|---|---|---|---|")
    for path in sorted(arguments.folder.glob("*.hdf5")):
        dim = read(path)[0]
        tries, solved = [], []
        for solver in SOLVERS_3D if dim == 3 else SOLVERS_2D:
            for storage in STORAGES:
                # Whoever is slower than the best so far need not finish.
                patience = min([limit] + [t[0][1] for t in solved])
                answer = attempt(path, solver, storage, tolerance, patience)
                tries.append((answer, f"{solver}, {storage}"))
                solved = [t for t in tries if t[0][0] <= tolerance]
        (error, seconds), name = (
            min(solved, key=lambda t: t[0][1]) if solved else min(tries)
        )
        own = esker(program, str(path.resolve()), tolerance, limit)
        print(
            f"| {path.stem} | {own[0]:.1e} | {own[1]:.4f} "
            f"| {name} | {error:.1e} | {seconds:.4f} |",
            flush=True,
        )
        if solved and own[0] <= tolerance:
            totals[0] += own[1]
            totals[1] += seconds
    print(
        f"\nBoth solve to {tolerance:g}: Esker {totals[0]:.3f} s, Siconos {totals[1]:.3f} s, "
        f"ratio {totals[1] / totals[0]:.1f}"
    )


if __name__ == "__main__":
    main()
