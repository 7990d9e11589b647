"""FastAPI with the first two routes of bench/echo, for ./dev bench-http."""

from typing import List, Optional

from fastapi import FastAPI, Response
from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Amount(Strict):
    currency: str
    centavos: int


class Payer(Strict):
    name: str
    email: str
    device: str


class Item(Strict):
    name: str
    quantity: int
    centavos: int


class Order(Strict):
    reference: str
    description: str
    amount: Amount
    payer: Payer
    items: List[Item]
    repeated: bool
    note: Optional[str]


app = FastAPI()


@app.get("/static")
async def get_static() -> Response:
    return Response(b'{"status":"ok"}', media_type="application/json")


@app.post("/echo")
async def echo(order: Order) -> Order:
    return order
